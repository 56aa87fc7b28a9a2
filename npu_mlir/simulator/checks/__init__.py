"""What is wrong with a program although its values come out right: races, flags, memory that was never written."""
