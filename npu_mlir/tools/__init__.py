"""Command lines: thin layers over the library."""
