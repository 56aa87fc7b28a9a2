"""When things happen: the pipes as max-plus recurrences, called or written out in the generated code."""
