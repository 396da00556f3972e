"""Products whose bits are the same for one row and for many, on every machine, in every language.

BLAS adds up a row in an order of its own, which depends on how many rows there are and on the
machine: of two records that are alike one could get another last bit. Here each sum begins with its
first product and takes the others in turn, each rounded on its own, as a plain loop does. BLAS is
ten times as fast on many rows, but a record passes through here only once.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix

_FEW = 256  # sums, fewer than which are made of products that are all held at once
_AT_A_TIME = 512  # rows of many, which stay close to the processor


def product(X: Matrix, B: Matrix) -> Matrix:
    """`X @ B` of rows and a matrix, the products of each row added up in the order of `B`'s rows.

    >>> product(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0], [10.0]]))
    array([[21.],
           [10.]])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is an answer, as it is to BLAS
        if len(X) * B.shape[1] < _FEW:
            # `accumulate` has one order; `sum` takes another where that is faster.
            return np.asarray(np.add.accumulate(X.T[:, :, None] * B[:, None, :], axis=0)[-1])
        blocks = [X[start : start + _AT_A_TIME] for start in range(0, len(X), _AT_A_TIME)]
        return np.concatenate([_of_many(block, B) for block in blocks])


def _of_many(X: Matrix, B: Matrix) -> Matrix:
    """One feature after the other, for all rows at once."""
    across = np.ascontiguousarray(X.T)
    sums = across[0] * B[0][:, None]
    term = np.empty_like(sums)
    for values, weights in zip(across[1:], B[1:], strict=True):
        np.multiply(values, weights[:, None], out=term)
        sums += term
    return np.asarray(sums.T)


def row_sums(X: Matrix) -> Matrix:
    """The sum of each row, as a column, added up from left to right.

    >>> row_sums(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]]))
    array([[6.],
           [4.]])
    """
    return np.asarray(np.add.accumulate(X, axis=1)[:, -1:])
