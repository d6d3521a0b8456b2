"""One file per metric, on plain arrays; ``columns`` is the carrier, ``rows`` its builder, ``summary`` all at once."""
