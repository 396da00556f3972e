"""The kinds of arrays that all of this is about; shapes stand where an array is named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]  # numbers, of any shape
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
