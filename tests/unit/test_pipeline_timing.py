"""Times of tiled products on plain numbers: by hand, and with loops that are followed to their ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_mlir.analysis import pipeline_timing
from npu_mlir.analysis.pipeline_timing import (
    Epilogue,
    OperandLoads,
    Pipeline,
    kept_chunks,
    loads_in,
    pipeline_cycles,
)


def operand(depends: tuple[bool, ...] = (), first: int = 100, keep: bool = False) -> OperandLoads:
    return OperandLoads(first, first // 2, 20, 5, depends, keep, 2)


ONE = Pipeline(
    trips=(),
    chunks=1,
    steps=1,
    l0=10,
    cube=50,
    a=operand(),
    b=operand(first=60),
    row=0,
    row_depends=(),
    row_slots=2,
    l0c_slots=2,
    epilogue=Epilogue(1, 8, 0, 30, 0, 2, True, 7, 5, 0),
    depth=32,
    flag=0,
)


def test_one_tile_is_the_sum_of_its_parts():
    """Both loads and the latency of the second, L0, the cube, the fixpipe, the store and its latency."""
    assert pipeline_cycles(ONE) == 160 + 20 + 10 + 50 + 8 + 30 + 7


def test_a_tile_in_pieces_drains_while_it_is_stored():
    pieces = replace(ONE, epilogue=replace(ONE.epilogue, pieces=3))
    assert pipeline_cycles(pieces) == 160 + 20 + 10 + 50 + 8 + 3 * 30 + 7


def test_many_tiles_take_the_time_of_the_slowest_pipe():
    """16 tiles along rows: the operand of columns stays, the other is loaded for each tile."""
    rows = replace(ONE, trips=(16,), row_depends=(False,), a=operand((True,)), b=operand((False,), first=60))
    loads = 60 + 16 * 100
    assert pipeline_cycles(rows) == loads + 20 + 10 + 50 + 8 + 30 + 7
    slow = replace(rows, cube=1000)
    assert pipeline_cycles(slow) == 160 + 20 + 10 + 16 * 1000 + 8 + 30 + 7


def test_chunks_that_stay_are_loaded_once():
    """Two rows of tiles by three, four chunks of K: with the left operand kept, it is loaded for each row of tiles."""
    streamed = replace(
        ONE,
        trips=(2, 3),
        row_depends=(False, False),
        chunks=4,
        l0=1,
        cube=5,
        a=operand((True, False)),
        b=operand((False, True), first=60),
    )
    kept = replace(streamed, a=operand((True, False), keep=True))
    # Loaded again from L2 in half the time.
    assert pipeline_cycles(streamed) - pipeline_cycles(kept) == 2 * 2 * 4 * 50


@pytest.mark.parametrize(
    ("depends", "chunks", "keep", "guarded"),
    [
        ((True, False), 1, False, (False, True)),
        ((False, True), 1, False, (False, False)),
        ((False, True), 1, True, (True, False)),
        ((True, False, False), 4, True, (False, True, True)),
        ((False, True, False), 4, True, (False, False, True)),
        ((True, True), 4, True, (False, False)),
    ],
)
def test_loads_in(depends: tuple[bool, ...], chunks: int, keep: bool, guarded: tuple[bool, ...]):
    assert loads_in(depends, chunks, keep) == guarded


def test_kept_chunks():
    assert kept_chunks((False, True, False), (2, 3, 5), 4) == 4
    assert kept_chunks((False, True), (2, 3), 1) == 3
    assert kept_chunks((True, True), (2, 3), 4) == 0


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    number = st.integers(1, 300)
    loops = draw(st.integers(0, 3))
    trips = tuple(draw(st.integers(2, 9)) for _ in range(loops))

    def depends() -> tuple[bool, ...]:
        return tuple(draw(st.booleans()) for _ in trips)

    def drawn() -> OperandLoads:
        first, latency = draw(number), draw(number)
        again, again_latency = draw(st.integers(1, first)), draw(st.integers(0, latency))
        return OperandLoads(
            first, again, latency, again_latency, depends(), draw(st.booleans()), draw(st.integers(1, 4))
        )

    vector = draw(st.sampled_from([0, 40]))
    epilogue = Epilogue(
        draw(st.integers(1, 4)),
        draw(number),
        vector,
        draw(st.sampled_from([0, 17, 200])),
        draw(number) if vector and draw(st.booleans()) else 0,
        draw(st.integers(1, 3)),
        draw(st.booleans()),
        draw(number),
        draw(number),
        20,
    )
    return Pipeline(
        trips,
        draw(st.integers(1, 5)),
        draw(st.integers(1, 9)),
        draw(number),
        draw(number),
        drawn(),
        drawn(),
        draw(st.sampled_from([0, 18])),
        depends(),
        draw(st.integers(2, 3)),
        draw(st.integers(1, 4)),
        epilogue,
        draw(st.sampled_from([8, 32, 4096])),
    )


class _Followed(pipeline_timing._Pipes):  # pyright: ignore[reportPrivateUsage]
    """Skips nothing: no state is like another."""

    states = 0

    def _state(self) -> Any:
        self.states += 1
        return (self.states,)


@settings(max_examples=300, deadline=None)
@given(pipelines())
def test_skipping_changes_nothing(pipeline: Pipeline):
    assert pipeline_cycles(pipeline) == _Followed(pipeline).run()


@settings(max_examples=300, deadline=None)
@given(pipelines(), st.sampled_from(["depth", "l0c_slots", "first", "latency", "store"]))
def test_a_better_machine_is_never_slower(pipeline: Pipeline, what: str):
    """Faster loads and stores, longer queues and more accumulators at once."""
    if what in ("depth", "l0c_slots"):
        better = replace(pipeline, **{what: getattr(pipeline, what) * 2})
    elif what == "store":
        better = replace(pipeline, epilogue=replace(pipeline.epilogue, store=pipeline.epilogue.store // 2))
    else:
        a = pipeline.a
        again = min(a.again, a.first // 2), min(a.latency_again, a.latency // 2)
        faster = (
            replace(a, first=a.first // 2, again=again[0])
            if what == "first"
            else replace(a, latency=a.latency // 2, latency_again=again[1])
        )
        better = replace(pipeline, a=faster)
    assert pipeline_cycles(better) <= pipeline_cycles(pipeline)
