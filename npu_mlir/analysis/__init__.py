"""Pure algorithms on plain data or IR; nothing here changes the IR."""
