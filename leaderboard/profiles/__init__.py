"""Named scoring rules: what counts as an answer, what it commits to, what it earns, how it is averaged.

``profiles.toml`` is the data; ``rules`` reads it; ``readings`` turns a logged answer into a decision under a
profile; ``table`` lays a log out in columns; ``composites`` holds the formulas that two sources add on top.
"""
