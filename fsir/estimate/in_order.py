"""Products whose bits are the same for one row and for many, on every machine, in every language.

BLAS adds up a row in an order of its own, which depends on how many rows there are and on the
machine: of two records that are alike one could get another last bit. Here each sum begins with its
first product and takes the others in turn, each rounded on its own, as a plain loop does. BLAS is
ten times as fast on many rows, but a record passes through here only once.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix

_AT_A_TIME = 2**16  # products that are held at once: half a megabyte, close to the processor


def product(X: Matrix, B: Matrix) -> Matrix:
    """`X @ B` of rows and a matrix, the products of each row added up in the order of `B`'s rows.

    >>> product(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0], [10.0]]))
    array([[21.],
           [10.]])
    """
    rows = max(1, _AT_A_TIME // max(1, B.size))
    sums: Matrix = np.empty((len(X), B.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is an answer, as it is to BLAS
        for start in range(0, len(X), rows):
            across = np.ascontiguousarray(X[start : start + rows].T)
            terms = across[:, None, :] * B[:, :, None]  # rows last: there are more of them
            # `accumulate` has one order; `sum` takes another where that is faster.
            sums[start : start + rows] = np.add.accumulate(terms, axis=0)[-1].T
    return sums


def row_sums(X: Matrix) -> Matrix:
    """The sum of each row, as a column, added up from left to right.

    >>> row_sums(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]]))
    array([[6.],
           [4.]])
    """
    return np.asarray(np.add.accumulate(X, axis=1)[:, -1:])
