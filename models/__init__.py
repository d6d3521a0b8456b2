"""Deciders: wire adapters, embedded models, baselines, fakes."""
