"""Where time goes: every cycle of every pipe, and the critical path."""
