"""Schedules, bounds and memory that the compiler chooses for single operators of many shapes, as text.

These are decisions of policy: which operations become one kernel, which tiles are taken, in which order, how the memory
is shared. `make snapshots` writes them to `schedules.txt` after a change that is meant to change them.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr

from cubes import square
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.tile import space_of
from npu_mlir.ir.parsing import parse_module
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import make_pipeline

EXPECTED = Path(__file__).with_name("schedules.txt")
Shape = tuple[int, ...]


def _type(shape: Shape) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


class _Function:
    """A function at the level of graphs, written operation by operation; all operands are arguments."""

    def __init__(self) -> None:
        self.args: list[str] = []
        self.lines: list[str] = []
        self.types: dict[str, Shape] = {}

    def arg(self, *shape: int) -> str:
        name = f"%a{len(self.args)}"
        self.args.append(f"{name}: {_type(shape)}")
        self.types[name] = shape
        return name

    def op(self, name: str, operands: list[str], shape: Shape, attributes: str = "") -> str:
        result = f"%{len(self.lines)}"
        self.types[result] = shape
        types = ", ".join(_type(self.types[o]) for o in operands)
        self.lines.append(
            f"{result} = graph.{name} {', '.join(operands)} {attributes} : ({types}) -> {_type(shape)}"
        )
        return result

    def text(self, result: str) -> str:
        type_ = _type(self.types[result])
        body = "\n  ".join([*self.lines, f"func.return {result} : {type_}"])
        return f"func.func @main({', '.join(self.args)}) -> {type_} {{\n  {body}\n}}"


def product(m: int, k: int, n: int, *behind: str, batch: Shape = ()) -> str:
    """A matrix product and what follows it."""
    f = _Function()
    out = (*batch, m, n)
    value = f.op("matmul", [f.arg(*batch, m, k), f.arg(*batch, k, n)], out)
    return f.text(_follow(f, value, out, behind))


def convolution(image: Shape, channels: int, size: int, stride: int, *behind: str) -> str:
    """A convolution that keeps the size of the image but for its stride."""
    f = _Function()
    height, width, depth = image
    out = (1, -(-height // stride), -(-width // stride), channels)
    low = (size - 1) // 2
    high = [(o - 1) * stride + size - low - n for o, n in zip(out[1:3], image[:2], strict=True)]
    attributes = f"strides [{stride}, {stride}] pads [{low}, {low}, {high[0]}, {high[1]}] dilations [1, 1]"
    operands = [f.arg(1, *image), f.arg(size, size, depth, channels)]
    value = f.op("conv", operands, out, attributes + " layout NHWC")
    return f.text(_follow(f, value, out, behind))


def vector(shape: Shape, *ops: str) -> str:
    """Operations of the vector unit."""
    f = _Function()
    return f.text(_follow(f, f.arg(*shape), shape, ops))


def _follow(f: _Function, value: str, shape: Shape, names: tuple[str, ...]) -> str:
    for name in names:
        match name:
            case "bias":
                value = f.op("add", [value, f.arg(shape[-1])], shape)
            case "add" | "mul":
                value = f.op(name, [value, f.arg(*shape)], shape)
            case "scale rows":
                value = f.op("mul", [value, f.arg(*shape[:-1], 1)], shape)
            case "softmax":
                value = f.op("softmax", [value], shape, f"axis {len(shape) - 1}")
            case "softmax columns":
                value = f.op("softmax", [value], shape, "axis 0")
            case "layer norm":
                operands = [value, f.arg(shape[-1]), f.arg(shape[-1])]
                value = f.op("layer_norm", operands, shape, f"axis {len(shape) - 1} epsilon 1.0e-05")
            case "sum rows" | "sum columns":
                axis = len(shape) - 1 if name == "sum rows" else 0
                shape = tuple(1 if d == axis else n for d, n in enumerate(shape))
                value = f.op("reduce sum", [value], shape, f"axes [{axis}] keepdims")
            case "transpose":
                shape = (*shape[:-2], shape[-1], shape[-2])
                axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
                value = f.op("transpose", [value], shape, f"perm {axes}")
            case _:
                value = f.op(name, [value], shape)
    return value


PROGRAMS = {
    "product 7x5x3": product(7, 5, 3),
    "product 37x50x29 bias relu": product(37, 50, 29, "bias", "relu"),
    "product 197x333x101": product(197, 333, 101),
    "product 512x512x512 bias relu": product(512, 512, 512, "bias", "relu"),
    "product 1x2048x1000 bias": product(1, 2048, 1000, "bias"),
    "product 100x64x256 bias tanh": product(100, 64, 256, "bias", "tanh"),
    "product 2000x40x24": product(2000, 40, 24),
    "product 24x40x2000": product(24, 40, 2000),
    "product 48x4096x48": product(48, 4096, 48),
    "product 128x64x128 softmax": product(128, 64, 128, "softmax"),
    "product 128x64x256 softmax": product(128, 64, 256, "softmax"),
    "product 12x20x12 softmax": product(12, 20, 12, "softmax"),
    "product 96x64x192 bias add layer norm": product(96, 64, 192, "bias", "add", "layer norm"),
    "product 64x64x64 bias tanh mul": product(64, 64, 64, "bias", "tanh", "mul"),
    "product 64x64x64 sum rows": product(64, 64, 64, "sum rows"),
    "product 64x64x64 sum columns": product(64, 64, 64, "sum columns"),
    "product 64x64x64 scale rows": product(64, 64, 64, "scale rows"),
    "product 50x60x70 transpose": product(50, 60, 70, "transpose"),
    "products 3x4x33x20x21 bias": product(33, 20, 21, "bias", batch=(3, 4)),
    "convolution 14x14x64 3x3": convolution((14, 14, 64), 64, 3, 1, "bias", "relu"),
    "convolution 56x56x24 1x1": convolution((56, 56, 24), 48, 1, 1, "bias", "add", "relu"),
    "convolution 45x37x3 7x7 stride 2": convolution((45, 37, 3), 20, 7, 2),
    "convolution 9x8x5 3x3 stride 2": convolution((9, 8, 5), 6, 3, 2, "relu"),
    "relu 100": vector((100,), "relu"),
    "tanh 30x1000": vector((30, 1000), "tanh"),
    "add mul 3x50x70": vector((3, 50, 70), "add", "bias", "mul"),
    "softmax 20x300": vector((20, 300), "softmax"),
    "softmax columns 300x20": vector((300, 20), "softmax columns"),
    "layer norm 64x768": vector((64, 768), "layer norm"),
    "layer norm relu 5x33": vector((5, 33), "layer norm", "relu"),
    "sum rows 70x5000": vector((70, 5000), "sum rows"),
    "sum columns 500x70": vector((500, 70), "sum columns"),
    "transpose add 130x70": vector((130, 70), "transpose", "add"),
    "mul sum columns 9x100 exp": vector((9, 100), "mul", "sum columns", "exp"),
}

CASES = [
    (program, target)
    for program in PROGRAMS
    for target in ("toy", "ascend-910", "ascend-910b")
    if target != "ascend-910b" or program.startswith(("product", "convolution"))
]
"""Programs and targets; vector kernels are the same on both large machines."""


def planned(program: str, target: str, precision: str) -> ModuleOp:
    """The module with its memory planned."""
    module = parse_module(make_context(), PROGRAMS[program], f"{program}.mlir")
    module.attributes["npu.target"] = StringAttr(target)
    options = {"graph-set-precision": f"precision={precision}"}
    PassManager(make_pipeline(None, "tile-memref", options), verify_each=False).run(make_context(), module)
    return module


def snapshot(program: str, target: str) -> str:
    """The decisions for one program."""
    lines = [f"{program} on {target}"]
    for precision in ("f32", "f16"):
        for kernel in (op for op in planned(program, target, precision).ops if isinstance(op, tile.KernelOp)):
            lines.append(f"  {precision} {kernel.sym_name.data}: {_schedule(kernel)}")
            lines.append(f"    bound {_bound(kernel)}")
            lines.append(f"    {_memory(kernel)}")
    return "\n".join(lines)


def _schedule(kernel: tile.KernelOp) -> str:
    schedule = kernel.schedule
    assert schedule is not None
    return str(schedule).removeprefix("#tile.schedule<").removesuffix(">")


def _bound(kernel: tile.KernelOp) -> str:
    entries = kernel.attributes["npu.bound"]
    assert isinstance(entries, DictionaryAttr)
    return ", ".join(f"{k} {v.value.data}" for k, v in entries.data.items() if isinstance(v, IntegerAttr))


def _memory(kernel: tile.KernelOp) -> str:
    """The buffers: memory, address, slots and bytes."""
    places = [
        f"{space_of(op.buffer.type)} {op.address.value.data}+{op.num_slots}x{op.slot_bytes(square(1))}"
        for op in kernel.walk()
        if isinstance(op, tile.AllocOp) and op.address is not None
    ]
    return ", ".join(places)


def all_snapshots() -> str:
    """The decisions for all programs."""
    return "\n\n".join(snapshot(program, target) for program, target in CASES) + "\n"


if __name__ == "__main__":
    EXPECTED.write_text(all_snapshots())
