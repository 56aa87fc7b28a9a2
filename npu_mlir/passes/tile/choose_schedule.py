from __future__ import annotations

from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import Kind
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.kernel import read_kernel


class ChooseSchedule(ModulePass):
    name = "tile-choose-schedule"
    def apply(self, ctx, op):
        for k in op.ops:
            if isinstance(k, tile.KernelOp):
                K=read_kernel(k)
                t=[];i=[]
                for c in K.classes.classes:
                    if c.kind is Kind.PAR: t.append(min(c.extent,16 if c.extent>4 else 1)); i.append(4 if t[-1]==16 and len(K.classes.classes)>3 else t[-1])
                    elif c.kind is Kind.RED: t.append(min(c.extent,64 if c.extent>10 else 3)); i.append(16 if t[-1]==64 else 1)
                    else: t.append(c.extent); i.append(c.extent)
                order=[c.id for c in K.classes.classes if c.kind is Kind.PAR]
                k.properties["schedule"]=tile.ScheduleAttr.of({"ub":2,"l1":2,"l0a":2,"l0b":2,"l0c":2},tile=t,inner=i,order=order)
