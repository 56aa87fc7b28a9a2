"""How structured operations (`linalg.generic` and its kin) are evaluated: whole iteration spaces at a time.

`views` reads an operand as an array over the iteration space, `body` turns the scalar body into a function of
arrays, `contraction` recognises products and hands them to BLAS, `evaluate` puts them together.
"""
