"""Append, read, blobs, cache."""
