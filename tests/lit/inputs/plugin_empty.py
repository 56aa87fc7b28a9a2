"""A plugin without passes."""
