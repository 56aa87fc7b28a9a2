"""One view of `linalg.generic`, for passes, lowerings, bounds, interpreters and simulator alike.

    nest         loops, maps, extents; what the result starts from; the operation as plain data (`analysis.dims`)
    roles        batch, m, n and k loops of a contraction
    bodies       what a body computes: multiply-add, casts, relu, constants
    vector_form  which vector instruction a body is

Nothing here changes IR.
"""
