"""The mechanism of `tile-apply-schedule`: generation of tiles from the stores backwards."""
