"""Environments over sessions: web pages, tool sandboxes, games."""
