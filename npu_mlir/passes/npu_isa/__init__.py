"""Passes of the instruction level, one per file."""
