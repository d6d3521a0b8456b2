"""Logs to tables, plots and a static site."""
