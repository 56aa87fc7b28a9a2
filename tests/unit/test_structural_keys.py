"""Keys of ops are equal exactly if the ops compute the same."""

import pytest
from xdsl.ir import Operation

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.structural_keys import StructuralKeys

FIRST = """
func.func @f(%x: f32, %y: f32) -> f32 {
  %c = arith.constant -0.0 : f32
  %t = arith.constant true
  %r = scf.if %t -> (f32) {
    %s = arith.subf %x, %y : f32
    scf.yield %s : f32
  } else {
    scf.yield %c : f32
  }
  func.return %r : f32
}
"""


def parse(text: str) -> Operation:
    function = parse_module(make_context(), text, "test.mlir").body.block.first_op
    assert function is not None
    return function


def same(first: str, second: str) -> bool:
    keys = StructuralKeys()
    return keys.key(parse(first)) == keys.key(parse(second))


def test_names_of_values_and_nodes_do_not_count() -> None:
    assert same(
        FIRST, FIRST.replace("%x", "%p").replace("arith.subf %p, %y", 'arith.subf %p, %y {npu.node = "a"}')
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-0.0", "0.0"),
        ("subf %x, %y", "subf %y, %x"),
        ("subf", "addf"),
        ("true", "false"),
        ("%y : f32\n", "%y fastmath<fast> : f32\n"),
        ("%s = arith.subf %x, %y : f32\n    scf.yield %s", "%s = arith.subf %x, %y : f32\n    scf.yield %x"),
        ("f32", "f16"),
        ("func.return %r", "func.return %c"),
    ],
)
def test_whatever_changes_a_result_changes_the_key(old: str, new: str) -> None:
    assert old in FIRST
    assert not same(FIRST, FIRST.replace(old, new))


def test_a_value_from_outside_stands_for_itself() -> None:
    keys = StructuralKeys()
    function = parse(FIRST)
    subtraction = next(op for op in function.walk() if op.name == "arith.subf")
    copy, swapped = subtraction.clone(), subtraction.clone()
    swapped.operands = tuple(reversed(swapped.operands))
    assert keys.key(subtraction) == keys.key(copy) != keys.key(swapped)


def test_what_stands_in_a_region_does_not_stand_behind_it() -> None:
    first = (
        "builtin.module {\n  builtin.module {\n    func.func private @f()\n  }\n  func.func private @g()\n}"
    )
    second = (
        "builtin.module {\n  builtin.module {\n    func.func private @f()\n  func.func private @g()\n  }\n}"
    )
    assert not same(first, second)


def test_ops_one_after_the_other() -> None:
    """A value is known by where it was defined last, so that an op can be added twice."""

    def key(text: str, twice: str) -> object:
        partial = keys.start()
        ops = [op for op in parse(text).walk() if op.results]
        for op in ops:
            if op.name == twice:
                partial.add(op)
            partial.add(op)
            partial.use(op.results[0])
        return partial.finish()

    keys = StructuralKeys()
    function = "func.func @f() -> i32 {\n  %c = arith.constant 1 : i32\n  %d = arith.constant 1 : i32\n"
    one, other = (function + f"  %s = arith.addi %{v}, %d : i32\n  func.return %s : i32\n}}" for v in "cd")
    assert key(one, "") == key(one.replace("%c", "%x"), "") != key(other, "")
    assert key(one, "") != key(one, "arith.addi") == key(one, "arith.addi")
