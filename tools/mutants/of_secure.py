"""Mistakes where two aggregators open sums: their noise, shares and seals."""

from __future__ import annotations

from tools.mutants.mutant import mutant

PLAN = "fsir/privacy/plan.py"
BUDGET = "fsir/privacy/budget.py"
OPENING = "fsir/secure/opening.py"
SHARES = "fsir/secure/shares.py"
SEALING = "fsir/secure/sealing.py"

_DRAWN = "noise.perturb(np.zeros(block.size), block.added / block.unit, block.step)"
_DRAWN_ONCE = (
    "np.full(block.size, noise.perturb(np.zeros(1), block.added / block.unit, block.step)[0])"
)

MUTANTS = (
    mutant(
        "noise of an aggregator deleted",
        (OPENING, "block.added / block.unit, block.step", "0.0, block.step"),
    ),
    mutant(
        "noise of an aggregator shared like that of devices",
        (OPENING, "block.added / block.unit", "block.sd / block.unit"),
    ),
    mutant("one noise for all blocks of an aggregator", (OPENING, _DRAWN, _DRAWN_ONCE)),
    mutant(
        "a device's noise for a cohort of its own square",
        (PLAN, "sd=block.sd / math.sqrt(cohort)", "sd=block.sd / cohort"),
    ),
    mutant(
        "steps of a shared report as large as its noise",
        (
            PLAN,
            "resolution = RESOLUTION_OF_SHARED * resolution // RESOLUTION",
            "return block._replace(step=_step(4.0 * block.sd / block.unit))",
        ),
    ),
    mutant(
        "draws of an honest aggregator not charged",
        (BUDGET, "return 1 + values_charged(", "return 1 + 0 * values_charged("),
    ),
    mutant("shares of a known seed", (SHARES, "os.urandom(SEED_BYTES)", "bytes(SEED_BYTES)")),
    mutant(
        "shares that open in any place",
        (SEALING, "[_LABEL, VERSION, role, *places, *layout]", "[_LABEL, VERSION, role]"),
    ),
    mutant(
        "shares that open under any active set",
        (SEALING, "role, *places, *layout]", "role, *places]"),
    ),
)
