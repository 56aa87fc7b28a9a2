"""What watches passes run: printers, a clock, reproducers. Each is imported when its option is used."""
