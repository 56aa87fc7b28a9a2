"""Is the result right: equivalence of levels, comparison with references, round trips, the reducer."""
