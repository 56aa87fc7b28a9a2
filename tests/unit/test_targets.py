"""Target descriptions and the cost of work."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects.npu_isa import CubeWork, MoveWork, VectorWork
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.cost import Cost, cost_of, padded_macs
from npu_mlir.targets.module_target import named_target, set_target, target_of
from npu_mlir.targets.target import TARGETS, get_target, read_target, target_names

ASCEND = get_target("ascend-910")


def test_the_targets_of_the_package():
    assert target_names() == ["ascend-910", "ascend-910b", "toy"]


@pytest.mark.parametrize("name", target_names())
def test_every_number_has_a_source(name: str):
    target = get_target(name)
    groups = ("rates", "latencies", "cube_steps", "vector")
    numbers = [f for f in target.__dataclass_fields__ if f not in ("name", *groups, "sources")]
    for group in groups:
        numbers += [f"{group}.{key}" for key in getattr(target, group)]
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


def test_padded_macs():
    assert padded_macs(CubeWork(17, 17, 17, "f16"), ASCEND) == 32**3


def test_the_machine_of_a_module():
    module = ModuleOp([])
    assert (named_target(module), target_of(module).name) == (None, "ascend-910")
    set_target(module, "toy")
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
