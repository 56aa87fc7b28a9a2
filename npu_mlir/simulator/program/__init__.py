"""What a kernel consists of: its sites, its blocks and their costs, the bytes and elements that operands cover."""
