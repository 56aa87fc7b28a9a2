"""Target descriptions and the cost of work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute

from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.npu_isa import CubeWork, MoveWork, VectorWork
from npu_mlir.dialects.tile import Space, buffer_type, element_bits, element_bytes, layout, tile_bytes
from npu_mlir.ir.parsing import parse_module
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.cost import Cost, cost_of, padded_macs
from npu_mlir.targets.module_target import check_target, named_target, set_target, target_label, target_of
from npu_mlir.targets.target import TARGETS, Target, get_target, read_target, target_names

ASCEND = get_target("ascend-910")


def test_the_targets_of_the_package():
    assert target_names() == ["ascend-910", "ascend-910b", "toy"]


@pytest.mark.parametrize("name", target_names())
def test_every_number_has_a_source(name: str):
    target = get_target(name)
    numbers = [name for name in target.values() if name != "name"]
    assert len(numbers) > 30
    assert [n for n in numbers if not target.sources.get(n)] == []


def test_peak():
    assert ASCEND.peak_macs("f16") == 4096
    assert ASCEND.peak_macs("i8") == 8192
    assert ASCEND.peak_macs("i4") == 16384
    assert ASCEND.peak_macs("f32") == 1024
    assert ASCEND.peak_macs("f64") == 0


@pytest.mark.parametrize(
    ("work", "cost"),
    [
        (MoveWork("gm_l1", 65536), Cost(16 + 1024, 200)),
        (MoveWork("l1_l0a", 16384), Cost(8 + 32, 0)),
        (CubeWork(128, 64, 256, "f16"), Cost(6 + 8 * 4 * 16, 0)),
        (CubeWork(1, 1, 1, "f16"), Cost(7, 0)),
        (CubeWork(128, 64, 256, "f32"), Cost(6 + 2 * 8 * 8 * 16, 0)),
        (VectorWork("add", 1, 1024), Cost(2 * 4, 14, 10)),
        (VectorWork("reduce", 3, 300), Cost(7 * 6, 32, 14)),
        (VectorWork("and", 1, 1), Cost(2, 14, 10)),
    ],
    ids=str,
)
def test_costs(work: MoveWork | CubeWork | VectorWork, cost: Cost):
    assert cost_of(work, ASCEND) == cost


def test_rates_need_not_be_whole():
    assert cost_of(MoveWork("gm_l1", 784), get_target("ascend-910b")) == Cost(16 + 10, 200)


def test_scales_of_the_fixpipe():
    assert ASCEND.scales(i32, f16)
    assert not ASCEND.scales(f32, f16)
    assert not Target.load("toy").scales(i32, f16)
    assert Target.load("toy").replace(i32_f16="true").scales(i32, f16)
    assert not ASCEND.replace({"fixpipe_scales.i32_f16": "false"}).scales(i32, f16)


def test_padded_macs():
    assert padded_macs(CubeWork(17, 17, 17, "f16"), ASCEND) == 32**3


def test_the_machine_of_a_module():
    module = ModuleOp([])
    assert (named_target(module), target_of(module).name) == (None, "ascend-910")
    set_target(module, Target.load("toy"))
    assert (named_target(module), target_of(module).name) == ("toy", "toy")


def test_unknown_name():
    with pytest.raises(UserError, match="unknown target 'ascend-91'; did you mean 'ascend-910'"):
        get_target("ascend-91")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("cores = {", "cores = {{"), "can't read the target description"),
        (("l0c = {", "l0d = {"), "the target lacks l0c"),
        (("[rates]", "speed = 1\n[rates]"), "unknown entry 'speed'"),
        (("value = 1048576", "value = 0"), "'l1' can't be 0"),
        (("value = [10, 2, 14]", "value = [10, 2]"), r"'vector.default' can't be \[10, 2\]"),
        (("split_cores = { value = false", "split_cores = { value = 1"), "'split_cores' can't be 1"),
        (("i32_f16 = { value = true", "i32_f16 = { value = 2"), "'fixpipe_scales.i32_f16' can't be 2"),
        (
            ("i32_f16", "i32_f17"),
            "unknown entry 'fixpipe_scales.i32_f17'; did you mean 'fixpipe_scales.i32_f16'",
        ),
    ],
)
def test_malformed_descriptions(tmp_path: Path, change: tuple[str, str], message: str):
    text = Path(TARGETS["ascend-910"]).read_text()
    assert change[0] in text
    path = tmp_path / "x.toml"
    path.write_text(text.replace(*change, 1))
    with pytest.raises(UserError, match=message):
        read_target(path)


def test_missing_file():
    with pytest.raises(UserError, match="can't read the target description 'nowhere.toml': No such file"):
        get_target("nowhere.toml")


# ---- other numbers ---------------------------------------------------------------------------------------------------


def test_numbers_are_replaced_by_short_and_dotted_names():
    machine = Target.load("ascend-910").replace(
        {"rates.gm_l1": 128}, l1="512KiB", gm_ub="78.4", cores="4", split_cores="true", add=[1, 2, 3]
    )
    assert (machine.l1, machine.cores, machine.split_cores) == (512 * 1024, 4, True)
    assert (machine.rates["gm_l1"], machine.rates["gm_ub"], machine.vector["add"]) == (128, 78.4, (1, 2, 3))
    changed = {"rates.gm_l1", "rates.gm_ub", "l1", "cores", "split_cores", "vector.add"}
    assert set(machine.changes_from(ASCEND)) == changed
    assert {name for name, source in machine.sources.items() if source == "set by the user"} == changed
    assert Target.load("ascend-910") == ASCEND
    assert machine.replace(machine.replace().values()) == machine


def test_a_type_may_be_new_to_the_cube():
    machine = ASCEND.replace({"cube_steps.f8E4M3FN": "32,1", "vector.tanh": "1,2,3"})
    assert machine.peak_macs("f8E4M3FN") == 8192
    assert machine.vector["tanh"] == (1, 2, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l0d": 5}, "a target has no number 'l0d'; did you mean 'l0"),
        ({"gm_l": 5}, "a target has no number 'gm_l'; did you mean 'gm_l1'"),
        ({"rates.gm_l": 5}, "a target has no number 'rates.gm_l'; did you mean 'rates.gm_l1'"),
        ({"l1": "512KB"}, "'l1' can't be '512KB': it is a number of bytes, like 65536, 64KiB or 1MiB"),
        ({"l1": "0KiB"}, "'l1' can't be '0KiB'"),
        ({"l1": -1}, "'l1' can't be -1"),
        ({"gm_l1": "fast"}, "'rates.gm_l1' can't be 'fast': it is bytes per cycle"),
        ({"gm_l1": float("nan")}, "'rates.gm_l1' can't be nan"),
        ({"gm": "1.5"}, "'latencies.gm' can't be '1.5': it is a number of cycles"),
        ({"cores": True}, "'cores' can't be True: it is an integer of at least 1"),
        ({"split_cores": "yes"}, "'split_cores' can't be 'yes': it is true or false"),
        (
            {"cube_steps.f16": "16"},
            "'cube_steps.f16' can't be '16': it is two numbers: k and cycles of a step",
        ),
        ({"add": "1,2"}, "'vector.add' can't be '1,2': it is three numbers of cycles"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str):
    with pytest.raises(UserError) as caught:
        ASCEND.replace(settings)
    assert message in caught.value.message


def test_a_short_name_of_two_numbers():
    with pytest.raises(UserError, match=r"'x' may be cube_steps.x or vector.x: give the whole name"):
        ASCEND.replace({"cube_steps.x": "1,1", "vector.x": "1,1,1"}).replace(x="2,2")


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_file_is_read_anew(tmp_path: Path):
    rates = []
    for rate in (1, 2, 4, 8):
        name = write(tmp_path / "x.toml", f'inherits = "toy"\n[rates]\ngm_l1 = {rate}')
        rates.append(get_target(name).rates["gm_l1"])
    assert rates == [1, 2, 4, 8]


def test_inheritance(tmp_path: Path):
    write(
        tmp_path / "base.toml",
        'name = "mine"\ninherits = "ascend-910"\nl1 = { value = "2MiB", source = "me" }',
    )
    machine = get_target(write(tmp_path / "fast.toml", 'inherits = "base.toml"\n[rates]\ngm_l1 = 256'))
    assert machine.name == "fast"
    assert machine.changes_from(ASCEND) == {"name": "fast", "l1": 2 << 20, "rates.gm_l1": 256}
    assert (machine.sources["l1"], machine.sources["ub"]) == ("me", "ge")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('inherits = "ascend-91"', "x.toml: unknown target 'ascend-91'; did you mean 'ascend-910'"),
        ('inherits = "x.toml"', "x.toml: the target inherits from itself, through 'x.toml'"),
        ('inherits = "y.toml"', "can't read the target description"),
        ("inherits = 3", "x.toml: 'inherits' can't be 3: it is the name of a target or a .toml file"),
        ('inherits = "toy"\nl0d = 3', "x.toml: unknown entry 'l0d'; did you mean 'l0"),
    ],
)
def test_wrong_inheritance(tmp_path: Path, text: str, message: str):
    with pytest.raises(UserError) as caught:
        get_target(write(tmp_path / "x.toml", text))
    assert message in caught.value.message


# ---- modules ---------------------------------------------------------------------------------------------------------


def reread(module: ModuleOp) -> ModuleOp:
    return parse_module(make_context(), str(module), "x.mlir")


def test_a_module_has_numbers_unless_they_are_those_of_the_package():
    module = ModuleOp([])
    set_target(module, ASCEND)
    assert set(module.attributes) == {"npu.target"}
    machine = ASCEND.replace(l1="512KiB", gm_l1=78.4, gm_ub=0.1, split_cores=True)
    set_target(module, machine)
    assert set(module.attributes) == {"npu.target", "npu.machine"}
    again = reread(module)
    assert target_of(again) == machine
    assert target_of(again).sources == machine.sources
    assert (
        target_label(again)
        == "ascend-910 (split_cores = True, l1 = 524288, rates.gm_l1 = 78.4, rates.gm_ub = 0.1)"
    )
    set_target(module, machine.replace(ASCEND.values()))
    assert set(module.attributes) == {"npu.target"}


def test_a_module_keeps_its_numbers(tmp_path: Path):
    module = ModuleOp([])
    name = write(tmp_path / "x.toml", 'inherits = "toy"\n[rates]\ngm_l1 = 1')
    set_target(module, Target.load(name))
    write(tmp_path / "x.toml", 'inherits = "toy"\n[rates]\ngm_l1 = 2')
    assert target_of(module).rates["gm_l1"] == 1
    with pytest.raises(UserError, match="can't be used with other numbers") as caught:
        check_target(module, Target.load(name))
    assert caught.value.notes[0].message == "it has rates.gm_l1 = 1; asked for: rates.gm_l1 = 2"
    (tmp_path / "x.toml").unlink()
    assert target_of(reread(module)).rates["gm_l1"] == 1


def test_the_numbers_of_a_module_are_checked():
    module = ModuleOp([], {"npu.machine": DictionaryAttr({"cores": StringAttr("x")})})
    with pytest.raises(UserError, match="the target lacks name") as caught:
        target_of(module)
    assert caught.value.loc is module
    module.attributes["npu.machine"] = StringAttr("x")
    with pytest.raises(UserError, match="the target lacks name"):
        target_of(module)


# ---- cubes -----------------------------------------------------------------------------------------------------------


def test_steps_of_the_cube():
    cube = ASCEND.cube
    assert [cube.tile(t) for t in (f16, f32, i8, IntegerType(4))] == [
        (16, 16, 16), (16, 8, 16), (16, 32, 16), (16, 64, 16)
    ]  # fmt: skip
    with pytest.raises(
        UserError, match="the cube of 'ascend-910' multiplies f16, bf16, f32, i8, i4, not i32"
    ):
        cube.tile(IntegerType(32))


@pytest.mark.parametrize(
    ("space", "element", "size"),
    [
        # A step of i8 is 16 x 32 elements.
        (Space.L0A, i8, 512), (Space.L0B, i8, 512), (Space.L0A, IntegerType(4), 512), (Space.L0A, f32, 512),
        (Space.L0C, f32, 1024), (Space.L1, IntegerType(4), 2 * 32), (Space.UB, i1, 2 * 32),
    ],
)  # fmt: skip
def test_bytes_of_small_tiles(space: Space, element: Attribute, size: int):
    assert tile_bytes(buffer_type((2, 3), element, space), 1, ASCEND.cube) == size


def test_accumulators_are_padded_to_the_sides_of_the_cube():
    wide = ASCEND.replace(cube_m=8, cube_n=24).cube
    assert tile_bytes(buffer_type((9, 25), f32, Space.L0C), 1, wide) == 16 * 48 * 4
    assert layout(buffer_type((9, 25), f32, Space.L0C), 1, wide) == (48, 1)


@pytest.mark.parametrize(
    ("element", "bits"),
    [(i1, 8), (IntegerType(2), 2), (IntegerType(4), 4), (i8, 8), (IntegerType(12), 16), (f16, 16), (f64, 64)],
)
def test_bits_of_elements(element: Attribute, bits: int):
    assert element_bits(element) == bits
    if bits % 8:
        with pytest.raises(UserError, match=f"an {element} takes {bits} bits: it has no address of its own"):
            element_bytes(element)
