"""The edge agent: learns from a stream on the device, reports once, uses the subspace it gets back."""
