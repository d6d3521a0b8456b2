"""Figures of one run, or of two side by side, from their logs; in the board's style, written to one file."""
