"""What people see of a run: tables, traces, a page, a comparison of two reports."""
