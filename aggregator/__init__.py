"""The aggregator: counts each report once, votes on screening, emits the updated subspace."""
