"""All mutants, by theme."""

from __future__ import annotations

from tools.mutants import of_device, of_release, of_rounds, of_secure

MUTANTS = (
    *of_release.MUTANTS,
    *of_rounds.MUTANTS,
    *of_device.MUTANTS,
    *of_secure.MUTANTS,
)
