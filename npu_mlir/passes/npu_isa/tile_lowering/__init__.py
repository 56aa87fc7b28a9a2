"""The parts of `convert-tile-to-npu-isa`: addresses, data movement, the cube, the vector unit."""
