"""Variants, stability, null detection and metrics, from logs."""
