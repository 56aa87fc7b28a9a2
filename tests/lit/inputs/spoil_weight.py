"""Adds 1 to the weight of a certain shape in a safetensors file, which still says that it belongs to its module."""

import sys

from safetensors import safe_open
from safetensors.numpy import save_file

path, shape = sys.argv[1:]
with safe_open(path, framework="numpy") as file:
    names = file.keys()
    weights = {name: file.get_tensor(name) for name in names}
    metadata = file.metadata()
spoilt = [name for name, value in weights.items() if "x".join(map(str, value.shape)) == shape]
weights[spoilt[0]] = weights[spoilt[0]] + 1
save_file(weights, path, metadata)
