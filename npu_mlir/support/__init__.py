"""What every room may use: messages, locations, files, arrays, registries. It knows no dialect."""
