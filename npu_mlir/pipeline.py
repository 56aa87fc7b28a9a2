"""The default pipeline, ready to run, from any level to any later one; its list of passes is `passes.phases`."""

from __future__ import annotations

from collections.abc import Container, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.pass_infra.pipeline_parser import ROOT_ANCHOR, PassNest, parse_pipeline
from npu_mlir.passes.phases import PIPELINE, Phase
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.levels import LEVELS, level_of

PRECISIONS = ("f32", "f16")


def pipeline_text(start: str | None, end: str, options: dict[str, str] | None = None) -> str:
    """The pipeline from the level `start` (None: a freshly imported model) to the level `end`.

    `options` has the options of passes by name, as `{"graph-set-precision": "precision=f16"}`.

    >>> pipeline_text("tile-memref", "isa")
    'builtin.module(convert-tile-to-npu-isa,npu-isa-insert-sync,npu-isa-cleanup)'
    """
    return _text(phases_between(start, end), options or {})


def phases_between(start: str | None, end: str) -> Sequence[Phase]:
    """The phases that take a module at the level `start` to the level `end`.

    A module at linalg may come from another producer, so it goes through that phase too.
    """
    if start == end:
        return ()
    first = 0 if start is None else LEVELS.index(start) + (start != "linalg")
    return PIPELINE[first : LEVELS.index(end) + 1]


def make_pipeline(start: str | None, end: str, options: dict[str, str] | None = None) -> PassNest:
    """The same pipeline, ready to run."""
    return parse_pipeline(pipeline_text(start, end, options), source="pipeline")


def phase_pipeline(phase: Phase, options: dict[str, str] | None = None) -> PassNest:
    """The passes of one phase, ready to run."""
    return parse_pipeline(_text([phase], options or {}), source="pipeline")


def phase_pipelines(
    start: str | None,
    end: str,
    options: dict[str, str] | None = None,
    extra: Sequence[ModulePass] = (),
) -> list[tuple[str, PassNest]]:
    """The pipelines from the level `start` to the level `end`, each with the level that it reaches.

    Each extra pass stands behind the pass that its class names in `runs_after`.
    """
    if start is not None and LEVELS.index(start) > LEVELS.index(end):
        raise UserError(f"a module at level '{start}' cannot be raised to '{end}'")
    nests = {phase.level: phase_pipeline(phase, options) for phase in phases_between(start, end)}
    past = [] if start is None else [n for phase in PIPELINE[: LEVELS.index(start) + 1] for n in phase.passes]
    for pass_ in extra:
        _insert(nests, pass_, past, end)
    return list(nests.items())


def pipeline_to(
    module: ModuleOp, level: str, what: str = "--lower-to", extra: Sequence[ModulePass] = ()
) -> PassNest:
    """The rest of the default pipeline, from the level of a module to `level`, with extra passes as above."""
    if level not in LEVELS:
        raise UserError(f"{what}: expected one of {', '.join(LEVELS)}, got '{level}'{closest(level, LEVELS)}")
    start = level_of(module)
    if LEVELS.index(start) > LEVELS.index(level):
        raise UserError(f"{what}: the module is at level '{start}', which comes after '{level}'")
    return joined(phase_pipelines(start, level, extra=extra))


def joined(phases: Sequence[tuple[str, PassNest]]) -> PassNest:
    """One pipeline of those of several phases."""
    return PassNest(ROOT_ANCHOR, tuple(element for _, nest in phases for element in nest.elements))


def _insert(nests: dict[str, PassNest], pass_: ModulePass, past: Container[str], level: str) -> None:
    """Put a pass behind its anchor, or in front of all if the anchor is among those that the module is past."""
    anchor: str | None = getattr(pass_, "runs_after", None)
    if anchor is None:
        raise UserError(
            f"the pass '{pass_.name}' does not say where in the pipeline it belongs",
            notes=['its class can: runs_after: ClassVar[str] = "tile-choose-schedule"'],
        )
    # A pass that occurs twice gets it the last time.
    for key, nest in reversed(nests.items()):
        names = [None if isinstance(element, PassNest) else element.name for element in nest.elements]
        if anchor in names:
            nests[key] = _inserted(nest, len(names) - names[::-1].index(anchor), pass_, (anchor,))
            return
    if anchor not in past:
        raise UserError(
            f"the pass '{pass_.name}' runs after '{anchor}', which is not among the passes to run"
        )
    first = next(iter(nests), level)
    nests[first] = _inserted(nests.get(first, PassNest(ROOT_ANCHOR, ())), 0, pass_, past)


def _inserted(pipeline: PassNest, place: int, pass_: ModulePass, anchors: Container[str]) -> PassNest:
    """The pipeline with a pass at a place, or behind those that were put there for one of the anchors before."""
    elements = pipeline.elements
    while place < len(elements) and getattr(elements[place], "runs_after", "") in anchors:
        place += 1
    return PassNest(pipeline.anchor, (*elements[:place], pass_, *elements[place:]))


def _text(phases: Sequence[Phase], options: dict[str, str]) -> str:
    names = [_with_options(name, options) for phase in phases for name in phase.passes]
    return f"{ROOT_ANCHOR}({','.join(names)})"


def _with_options(name: str, options: dict[str, str]) -> str:
    return f"{name}{{{options[name]}}}" if name in options else name
