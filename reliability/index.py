"""R, the reliability index: the harmonic mean of order stability and null detection (protocol 5)."""

from __future__ import annotations


def reliability_index(stability: float | None, null_detection: float | None) -> float | None:
    """R = 2 S N / (S + N), range 0..1; 0 if either is 0, None (pending) if either is unknown.

    A constant model (S = 1, N = 0), always-none (N = 0) and random (S = 0) all get 0.

    >>> reliability_index(0.5, 1.0), reliability_index(1.0, 0.0), reliability_index(None, 0.4)
    (0.6666666666666666, 0.0, None)
    """
    if stability is None or null_detection is None:
        return None
    for name, value in (("S", stability), ("N", null_detection)):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{name} must lie in 0..1, found {value}")
    if stability == 0.0 or null_detection == 0.0:
        return 0.0
    return 2.0 * stability * null_detection / (stability + null_detection)
