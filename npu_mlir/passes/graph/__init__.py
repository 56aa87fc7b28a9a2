"""Passes of the graph level, one per file."""
