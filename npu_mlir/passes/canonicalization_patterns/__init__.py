"""The patterns that ops of a dialect bring to `canonicalize`, a file a dialect."""
