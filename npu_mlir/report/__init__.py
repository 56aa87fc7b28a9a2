"""What a run tells: the report, and its views as tables, pages and traces."""
