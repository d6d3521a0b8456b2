"""The generator of the tools domain: families of seeded tasks, written as frozen episode files.

``python -m arena.run.freeze_tools`` records them on the simulation and writes them. Nothing here runs a tool.
"""
