"""Suites as frozen data: the domain-tier registry, generators, importers."""
