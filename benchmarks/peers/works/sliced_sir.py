"""Sliced inverse regression by the package `sliced`."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from sliced import SlicedInverseRegression

folder = Path(sys.argv[1])
data = np.load(folder / "har.npz")
X = data["X"]
_, y = np.unique(data["y"], return_inverse=True)
times = []
for _ in range(3):
    start = time.process_time()
    found = SlicedInverseRegression(n_directions=5).fit(X, y)
    times.append(time.process_time() - start)
np.save(folder / "sliced_sir.npy", found.directions_.T)
print(json.dumps({"seconds": min(times)}))
