"""When things happen: the pipes as max-plus recurrences, and loops in a steady state."""
