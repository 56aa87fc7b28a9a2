"""`--irdl-file`: dialects that a file defines in IRDL, MLIR's dialect for defining dialects."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.irdl import IRDL, DialectOp
from xdsl.interpreters.irdl import make_dialect
from xdsl.ir import Dialect

from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import read_text


def load_irdl(path: str) -> list[Dialect]:
    """The dialects that the file `path` defines."""
    text, name = read_text(path)
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(IRDL)
    module = parse_module(ctx, text, name)
    verify(module)
    definitions = [op for op in module.walk() if isinstance(op, DialectOp)]
    if not definitions:
        raise UserError(f"--irdl-file: '{name}' defines no dialect (irdl.dialect)")
    return [_make(op) for op in definitions]


def register_irdl(ctx: Context, path: str) -> None:
    """Register the dialects that a file defines."""
    for dialect in load_irdl(path):
        if dialect.name in ctx.registered_dialect_names:
            raise UserError(f"--irdl-file: the dialect '{dialect.name}' of '{path}' exists already")
        ctx.register_dialect(dialect.name, lambda dialect=dialect: dialect)


def _make(op: DialectOp) -> Dialect:
    """The dialect; what xDSL's interpreter of IRDL doesn't know is a mistake in the file or a limit of ours."""
    try:
        return make_dialect(op)
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"--irdl-file: cannot make the dialect '{op.sym_name.data}': {what}", loc=op
        ) from error
