"""Modules as text and in memory: parsing, printing, weights, constants, verification."""
