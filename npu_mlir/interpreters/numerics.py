"""The numerical surroundings of every run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def quiet() -> Generator[None]:
    """No floating-point warnings, and one thread for BLAS.

    The products of a kernel are small: threads cost more than they save, many times more when cores are taken, and
    make the order of sums depend on the machine.
    """
    with np.errstate(all="ignore"), _pools().limit(limits=1, user_api="blas"):
        yield
