"""Local web viewer of runs: lists, filters, single decisions under all their orders, episodes step by step.

It listens on this machine alone, answers GET alone and reads logs alone. ``index`` turns a log into a small
SQLite file, ``store`` asks it, ``app`` serves pages, ``server`` binds the port.
"""
