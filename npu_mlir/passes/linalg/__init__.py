"""Passes of the linalg level, one per file."""
