"""The static domain ``intent``: what a customer wants, how urgent it is, whether a human is needed.

``generate`` writes items and golds from the parts in ``vocabulary`` and ``phrases``: the gold is known because the
text is built around it. ``solve`` is the check: it reads the rendered state and questions alone, with a lexicon
of its own (``cues``), and must reach the same golds. Generator and solver share no code and no word list.
"""
