"""A batch of 64 rows of 561 features, learned by scikit-learn's IncrementalPCA."""

import json
import time

import numpy as np
from sklearn.decomposition import IncrementalPCA

X = np.random.default_rng(0).normal(size=(40, 64, 561))
pca = IncrementalPCA(n_components=10)
start = time.process_time()
for batch in X:
    pca.partial_fit(batch)
print(json.dumps({"seconds": (time.process_time() - start) / len(X)}))
