"""Programs of instructions for tests: a hand-written GEMM with flags, and how to read and run a module."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.parsing import parse_module


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = parse_module(make_context(), text, "test.mlir")
    module.verify()
    return module


def interpret(module: ModuleOp, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs by the plain interpreter."""
    return run_function(module, "main", inputs)


def gemm(
    m: int,
    n: int,
    k: int,
    tile: tuple[int, int, int] = (128, 256, 256),
    k0: int = 64,
    element: str = "f16",
    target: str = "ascend-910",
) -> str:
    """C = A x B with two slots everywhere, every tile dividing its dim, the flags placed by hand."""
    tm, tn, tk = tile
    size = {"f16": 2, "f32": 4}[element]
    gm = "#tile.space<gm>"
    counts = {"a": tm * tk * size, "b": tk * tn * size, "a0": tm * k0 * size, "b0": k0 * tn * size}
    return f"""
builtin.module attributes {{"npu.target" = "{target}"}} {{
  func.func @main(%a: tensor<{m}x{k}x{element}>, %b: tensor<{k}x{n}x{element}>) -> tensor<{m}x{n}x{element}> {{
    %c = tile.launch @gemm(%a, %b) : (tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>) -> tensor<{m}x{n}x{element}>
    func.return %c : tensor<{m}x{n}x{element}>
  }}
  tile.kernel @gemm(%A: memref<{m}x{k}x{element}, {gm}>, %B: memref<{k}x{n}x{element}, {gm}>,
                    %C: memref<{m}x{n}x{element}, {gm}>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = arith.constant {m} : index
    %n = arith.constant {n} : index
    %k = arith.constant {k} : index
    %tm = arith.constant {tm} : index
    %tn = arith.constant {tn} : index
    %tk = arith.constant {tk} : index
    %k0s = arith.constant {k0} : index
    %row = arith.constant {tn * size} : index
    %column = arith.constant {size} : index
    %la = npu_isa.buffer 2 x {counts["a"]} at 0 : !npu_isa.addr<l1>
    %lb = npu_isa.buffer 2 x {counts["b"]} at {2 * counts["a"]} : !npu_isa.addr<l1>
    %l0a = npu_isa.buffer 2 x {counts["a0"]} at 0 : !npu_isa.addr<l0a>
    %l0b = npu_isa.buffer 2 x {counts["b0"]} at 0 : !npu_isa.addr<l0b>
    %l0c = npu_isa.buffer 2 x {tm * tn * 4} at 0 : !npu_isa.addr<l0c>
    npu_isa.set_flag [MTE1, MTE2, 0]
    npu_isa.set_flag [MTE1, MTE2, 1]
    npu_isa.set_flag [M, MTE1, 0]
    npu_isa.set_flag [M, MTE1, 1]
    npu_isa.set_flag [FIX, M, 0]
    npu_isa.set_flag [FIX, M, 1]
    %end:3 = scf.for %i = %c0 to %m step %tm iter_args(%x0 = %c0, %y0 = %c0, %z0 = %c0) -> (index, index, index) {{
      %end_i:3 = scf.for %j = %c0 to %n step %tn iter_args(%x1 = %x0, %y1 = %y0, %z1 = %z0) -> (index, index, index) {{
        %c = npu_isa.slot %l0c[%z1] : !npu_isa.addr<l0c>
        npu_isa.wait_flag [FIX, M, 0 + %z1 mod 2]
        %end_j:2 = scf.for %l = %c0 to %k step %tk iter_args(%x2 = %x1, %y2 = %y1) -> (index, index) {{
          %a = npu_isa.slot %la[%x2] : !npu_isa.addr<l1>
          %b = npu_isa.slot %lb[%x2] : !npu_isa.addr<l1>
          npu_isa.wait_flag [MTE1, MTE2, 0 + %x2 mod 2]
          npu_isa.load_l1 %A[%i, %l] -> %a<{tk}, 1> over [{tm}, {tk}]
            map affine_map<(i, l, x, y) -> (i + x, l + y)> : memref<{m}x{k}x{element}, {gm}>
          npu_isa.load_l1 %B[%l, %j] -> %b<{tn}, 1> over [{tk}, {tn}]
            map affine_map<(l, j, x, y) -> (l + x, j + y)> : memref<{k}x{n}x{element}, {gm}>
          npu_isa.set_flag [MTE2, MTE1, 0 + %x2 mod 2]
          npu_isa.wait_flag [MTE2, MTE1, 0 + %x2 mod 2]
          %end_l = scf.for %p = %c0 to %tk step %k0s iter_args(%y3 = %y2) -> (index) {{
            %a0 = npu_isa.slot %l0a[%y3] : !npu_isa.addr<l0a>
            %b0 = npu_isa.slot %l0b[%y3] : !npu_isa.addr<l0b>
            %ao = arith.muli %p, %column : index
            %bo = arith.muli %p, %row : index
            %ap = npu_isa.at %a + %ao : !npu_isa.addr<l1>
            %bp = npu_isa.at %b + %bo : !npu_isa.addr<l1>
            npu_isa.wait_flag [M, MTE1, 0 + %y3 mod 2]
            npu_isa.load_l0a %ap<{tk}, 1> -> %a0 over [{tm}, {k0}] rows 1 : {element}
            npu_isa.load_l0b %bp<{tn}, 1> -> %b0 over [{k0}, {tn}] rows 1 : {element}
            npu_isa.set_flag [MTE1, M, 0 + %y3 mod 2]
            npu_isa.wait_flag [MTE1, M, 0 + %y3 mod 2]
            %lp = arith.addi %l, %p : index
            %first = arith.cmpi eq, %lp, %c0 : index
            npu_isa.mmad %a0, %b0 -> %c over [{tm}, {k0}, {tn}] init %first : {element} -> f32
            npu_isa.set_flag [M, MTE1, 0 + %y3 mod 2]
            %y4 = arith.addi %y3, %c1 : index
            scf.yield %y4 : index
          }}
          npu_isa.set_flag [MTE1, MTE2, 0 + %x2 mod 2]
          %x3 = arith.addi %x2, %c1 : index
          scf.yield %x3, %end_l : index, index
        }}
        npu_isa.set_flag [M, FIX, 0 + %z1 mod 2]
        npu_isa.wait_flag [M, FIX, 0 + %z1 mod 2]
        npu_isa.fixpipe_gm %c<{tn}, 1> -> %C[%i, %j] over [{tm}, {tn}]
          map affine_map<(i, j, x, y) -> (i + x, j + y)> : memref<{m}x{n}x{element}, {gm}>
        npu_isa.set_flag [FIX, M, 0 + %z1 mod 2]
        %z2 = arith.addi %z1, %c1 : index
        scf.yield %end_j#0, %end_j#1, %z2 : index, index, index
      }}
      scf.yield %end_i#0, %end_i#1, %end_i#2 : index, index, index
    }}
    npu_isa.wait_flag [MTE1, MTE2, 0]
    npu_isa.wait_flag [MTE1, MTE2, 1]
    npu_isa.wait_flag [M, MTE1, 0]
    npu_isa.wait_flag [M, MTE1, 1]
    npu_isa.wait_flag [FIX, M, 0]
    npu_isa.wait_flag [FIX, M, 1]
    tile.return
  }}
}}
"""
