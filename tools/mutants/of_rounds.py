"""Mistakes in the noise of rounds, which hangs together."""

from __future__ import annotations

from tools.mutants.mutant import mutant

PLAN = "fsir/privacy/plan.py"
CORRELATED = "fsir/privacy/rounds/correlated.py"
FACTORISATION = "fsir/privacy/rounds/factorisation.py"
PARTICIPATION = "edge_agent/learning/part/participation.py"

_ROUNDS_OF = "Factorisation(_inverse(_root(workload(memory, rounds))))"

MUTANTS = (
    mutant("rounds: norm forgotten", (PLAN, ".times(factorisation.norm)", ".times(1.0)")),
    mutant(
        "rounds: norm of half of them",
        (
            FACTORISATION,
            "for c in self.inverse))",
            "for c in self.inverse[: len(self.inverse) // 2]))",
        ),
    ),
    mutant(
        "rounds: coefficients without their sign",
        (FACTORISATION, _ROUNDS_OF, f"Factorisation(tuple(map(abs, {_ROUNDS_OF[14:-1]})))"),
    ),
    mutant(
        "rounds: coefficients from the wrong end",
        (CORRELATED, "reversed(coefficients), strict", "coefficients, strict"),
    ),
    mutant("rounds: lost parts of a sum dropped", (CORRELATED, "total + lost", "total")),
    mutant(
        "rounds: values weigh like those of a report",
        (FACTORISATION, "math.ceil(max(relative, variation))", "1"),
    ),
    mutant(
        "rounds: values of one round counted",
        (PLAN, "sum(self.sizes) * rounds * weight", "sum(self.sizes) * weight"),
    ),
    mutant(
        "rounds: one label for all",
        (CORRELATED, 'stage.name if round == 1 else f"{stage.name} {round}"', "stage.name"),
    ),
    mutant("rounds: one draw for all blocks", (CORRELATED, "self._draws += 1", "pass")),
    mutant("rounds: a key that is not secret", (CORRELATED, "self._key = key +", "self._key =")),
    mutant(
        "rounds: past normals drawn anew",
        (
            CORRELATED,
            "[KeyedNoise(_part(key, t), _label(stage, t)) for t in rounds]",
            "[noise] * round",
        ),
    ),
    mutant(
        "rounds: beyond the horizon",
        (CORRELATED, "1 <= round <= len(coefficients)", "round >= 1"),
        (CORRELATED, "coefficients[:round])", "(coefficients + (0.0,) * round)[:round])"),
    ),
    mutant(
        "rounds: another key before each",
        (
            PARTICIPATION,
            "return key_for(round, earlier)",
            "return key_for(round)",
        ),
    ),
)
