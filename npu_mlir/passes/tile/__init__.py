"""Passes of the tile level, one per file."""
