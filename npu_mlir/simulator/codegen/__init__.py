"""A kernel as one Python function."""
