"""Tool sandboxes: boxes in which the commands that a model chose really run.

``open_backend`` (or ``open_sandbox`` for a single box) picks docker, bubblewrap or the simulation, checks
the box from inside, and never falls back to the host. Import from the submodules; this file stays empty
so that reading a name costs no engine import.
"""
