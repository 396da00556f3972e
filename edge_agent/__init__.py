"""The edge agent: learns from a stream on the device, reports once, uses what it gets back."""
