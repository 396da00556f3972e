"""Lying devices, measured: how far can a few of them turn the subspace of all,
and what does it cost to bound them?"""
