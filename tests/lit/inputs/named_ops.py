"""Print a module with one function for each named op of linalg, on small tensors.

python named_ops.py [--type f32|i32] [--division] [NAME ...]
"""

from __future__ import annotations

import argparse

from npu_mlir.dialects.linalg.layouts import ELEMENTWISE, UNARY, OperandLayout, layouts

SIZES = {"b": 2, "n": 2, "m": 3, "k": 4, "f": 3, "c": 2, "g": 2, "M": 2, "N": 3, "K": 2}
WINDOW, RESULT, STRIDE, DILATION = 2, 3, 2, 2

INTEGERS_ONLY = {"div_unsigned"}


def main() -> None:
    """Print the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", default="f32")
    parser.add_argument("--division", action="store_true", help="division of integers, which may be by zero")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    wanted = args.names or [*layouts(), *ELEMENTWISE]
    print(
        "\n".join(function(name, args.type) for name in wanted if is_defined(name, args.type, args.division))
    )


def is_defined(name: str, type_: str, division: bool) -> bool:
    """Whether the op takes elements of the type."""
    if type_.startswith("f"):
        return name not in INTEGERS_ONLY and not name.endswith(("unsigned", "_q")) and "quantized" not in name
    return name not in {*UNARY, "powf"} and (division or name not in {"div", "div_unsigned"})


def function(name: str, type_: str) -> str:
    """A function that applies the op."""
    if name in ELEMENTWISE:
        shapes = ["4x5x"] * (ELEMENTWISE[name] + 1)
        types = [f"tensor<{shape}{type_}>" for shape in shapes]
        if name == "select":
            types[0] = "tensor<4x5xi1>"
        return _text(name, types, "")
    layout = layouts()[name]
    shapes = [_shape(layout, i) for i in range(len(layout.operands))]
    types = [f"tensor<{shape}{type_}>" for shape in shapes]
    if len(types) == 5:
        types[:4] = [type_.replace("i32", "i8") if i > 1 else types[i].replace("i32", "i8") for i in range(4)]
        types[2] = types[3] = "i32"
    attributes = ""
    if layout.windows and not _is_plain(layout):
        strides, dilations = (f"dense<{n}> : vector<{layout.windows}xi64>" for n in (STRIDE, DILATION))
        attributes = f"{{dilations = {dilations}, strides = {strides}}} "
    return _text(name, types, attributes)


def _is_plain(layout: OperandLayout) -> bool:
    """Whether a convolution has no other dims, and then no strides."""
    return all(len(term) == 2 for term in layout.operands[0])


def _shape(layout: OperandLayout, operand: int) -> str:
    stride, dilation = (1, 1) if _is_plain(layout) else (STRIDE, DILATION)
    sizes: list[int] = []
    for term in layout.operands[operand]:
        if len(term) == 2:
            sizes.append((RESULT - 1) * stride + (WINDOW - 1) * dilation + 1)
        elif term in "zyx" and layout.windows:
            sizes.append(RESULT)
        elif term in "opq" and layout.windows:
            sizes.append(WINDOW)
        else:
            sizes.append(SIZES[term])
    return "".join(f"{size}x" for size in sizes)


def _text(name: str, types: list[str], attributes: str) -> str:
    names = [f"%a{i}" for i in range(len(types))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    return (
        f"func.func @{name}({arguments}) -> {types[-1]} {{\n"
        f"  %r = linalg.{name} {attributes}ins({', '.join(names[:-1])} : {', '.join(types[:-1])})"
        f" outs({names[-1]} : {types[-1]}) -> {types[-1]}\n"
        f"  return %r : {types[-1]}\n}}"
    )


if __name__ == "__main__":
    main()
