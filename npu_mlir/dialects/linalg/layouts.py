"""The named structured ops of upstream linalg as data: what each dim of each operand is.

    "m k, k n -> m n"                       a matrix product
    "n y+p x+q c, p q c f -> n y x f"       conv_2d_nhwc_hwcf: y and x slide, p and q are the window

A term `y+p` stands for `y * stride + p * dilation`; the n-th such term has the n-th stride and dilation. Dims that the
result lacks are reduced. The loops stand in the order of the result and then of the second operand, or behind a `|`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_CONTRACTIONS = {
    "matmul": "m k, k n -> m n",
    "batch_matmul": "b m k, b k n -> b m n",
    "matvec": "m k, k -> m",
    "vecmat": "k, k n -> n",
    "batch_matvec": "b m k, b k -> b m",
    "batch_vecmat": "b k, b k n -> b n",
    "dot": "k, k -> ",
    "batch_reduce_matmul": "b m k, b k n -> m n | b m n k",
    "mmt4d": "M K m k, N K n k -> M N m n",
    "batch_mmt4d": "b M K m k, b N K n k -> b M N m n",
    "quantized_matmul": "m k, k n, , -> m n",
    "quantized_batch_matmul": "b m k, b k n, , -> b m n",
}
_CONVOLUTIONS = (
    "conv_1d_nwc_wcf", "conv_1d_ncw_fcw",
    "conv_2d_nhwc_hwcf", "conv_2d_nhwc_fhwc", "conv_2d_nchw_fchw",
    "conv_2d_ngchw_fgchw", "conv_2d_ngchw_gfchw", "conv_2d_nhwgc_gfhwc",
    "conv_3d_ndhwc_dhwcf", "conv_3d_ncdhw_fcdhw",
    "depthwise_conv_1d_nwc_wc", "depthwise_conv_1d_ncw_cw", "depthwise_conv_1d_nwc_wcm",
    "depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nchw_chw", "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_3d_ndhwc_dhwc", "depthwise_conv_3d_ncdhw_cdhw", "depthwise_conv_3d_ndhwc_dhwcm",
    "conv_2d_nhwc_hwcf_q", "conv_2d_nhwc_fhwc_q", "conv_2d_nchw_fchw_q",
    "depthwise_conv_2d_nhwc_hwc_q", "depthwise_conv_2d_nhwc_hwcm_q",
)  # fmt: skip
_POOLS = {
    **{f"pooling_{layout}_{kind}": layout
       for layout in ("nhwc", "nwc", "ndhwc") for kind in ("sum", "max", "min")},
    **{f"pooling_{layout}_{kind}": layout
       for layout in ("nhwc", "nwc") for kind in ("max_unsigned", "min_unsigned")},
    **{f"pooling_{layout}_{kind}": layout for layout in ("nchw", "ncw") for kind in ("sum", "max")},
}  # fmt: skip
_PLAIN_CONVOLUTIONS = {
    "conv_1d": "x+q, q -> x",
    "conv_2d": "y+p x+q, p q -> y x",
    "conv_3d": "z+o y+p x+q, o p q -> z y x",
}

UNARY = ("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round", "sqrt", "rsqrt", "square",
         "tanh", "erf")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "div_unsigned", "max", "min", "powf")
ELEMENTWISE = {**dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2), "select": 3, "copy": 1}
"""The elementwise ops and how many inputs they have."""

_SLIDES = {"d": ("z", "o"), "h": ("y", "p"), "w": ("x", "q")}
"""The loop dim over positions and the one over the window, for each spatial dim in the name of a layout."""


@dataclass(frozen=True)
class OperandLayout:
    """The terms of each operand (one or two dims each), inputs first, and the order of the loops."""

    operands: tuple[tuple[str, ...], ...]
    loops: str

    @property
    def windows(self) -> int:
        """How many terms slide: as many as there are strides."""
        return sum(len(term) == 2 for terms in self.operands for term in terms)

    def reductions(self) -> list[bool]:
        """Whether each loop is a reduction."""
        kept = set("".join(self.operands[-1]))
        return [loop not in kept for loop in self.loops]


def _parse(text: str) -> OperandLayout:
    text, _, order = text.partition(" | ")
    inputs, _, result = text.partition(" -> ")
    operands = [part.replace("+", "").split() for part in [*inputs.split(","), result]]
    loops = dict.fromkeys(order.replace(" ", ""))
    for terms in [operands[-1], *operands[1:2], *operands]:
        loops |= dict.fromkeys("".join(terms))
    return OperandLayout(tuple(tuple(terms) for terms in operands), "".join(loops))


def _slide(layout: str) -> str:
    return " ".join("+".join(_SLIDES.get(dim, (dim,))) for dim in layout)


def _convolution(name: str) -> str:
    parts = name.removesuffix("_q").split("_")
    source, kernel = parts[-2:]
    result = source.replace("c", "f") if "f" in kernel else source + ("m" if "m" in kernel else "")
    window = " ".join(_SLIDES.get(dim, ("", dim))[1] for dim in kernel)
    zero_points = ", ," if name.endswith("_q") else ""
    outputs = " ".join(_SLIDES.get(dim, (dim,))[0] for dim in result)
    return f"{_slide(source)}, {window}{zero_points} -> {outputs}"


def _pool(layout: str) -> str:
    window = " ".join(_SLIDES[dim][1] for dim in layout if dim in _SLIDES)
    return f"{_slide(layout)}, {window} -> {' '.join(_SLIDES.get(dim, (dim,))[0] for dim in layout)}"


@cache
def layouts() -> dict[str, OperandLayout]:
    """The layout of every named contraction, convolution and pool."""
    texts = _CONTRACTIONS | _PLAIN_CONVOLUTIONS
    texts |= {name: _convolution(name) for name in _CONVOLUTIONS}
    texts |= {name: _pool(layout) for name, layout in _POOLS.items()}
    return {name: _parse(text) for name, text in texts.items()}
