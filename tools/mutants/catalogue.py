"""The mutants: each is one mistake, as a replacement of a few characters of the source.

Anchors are small, so that they survive most changes around them. One that is not found exactly once
is an error: then the source has moved, and the mutant must follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NOISE = "fsir/privacy/noise.py"
WORDS = "fsir/privacy/normal/words.py"
RELEASE = "fsir/privacy/release.py"
QUANTISER = "fsir/privacy/quantiser.py"
EXACT_MAP = "fsir/task/exact_map.py"
SCALES = "fsir/privacy/scales.py"
PLAN = "fsir/privacy/plan.py"
CORRELATED = "fsir/privacy/rounds/correlated.py"
FACTORISATION = "fsir/privacy/rounds/factorisation.py"
MOMENTS = "fsir/privacy/moments.py"
KEPT = "edge_agent/learning/kept.py"
REPORT = "edge_agent/learning/report.py"
PARTICIPATION = "edge_agent/learning/part/participation.py"
STATE = "edge_agent/state/reports.py"
BUDGET = "fsir/privacy/budget.py"
PLAN = "fsir/privacy/plan.py"
OPENING = "fsir/secure/opening.py"
SHARES = "fsir/secure/shares.py"
SEALING = "fsir/secure/sealing.py"
THRESHOLD = "edge_agent/watch/threshold.py"


class MovedError(Exception):
    """An anchor that the source has not, or has more than once."""


@dataclass(frozen=True)
class Edit:
    """Some text of a file, and what takes its place."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file below `root`."""
        file = root / self.path
        text = file.read_text() if file.is_file() else ""
        found = text.count(self.old)
        if found != 1:
            raise MovedError(
                f"{self.path} has {self.old!r} {found} times: give the mutant an anchor that is "
                "there once"
            )
        file.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """One mistake."""

    name: str
    edits: tuple[Edit, ...]

    def apply(self, root: Path) -> None:
        """Make it below `root`."""
        for edit in self.edits:
            edit.apply(root)


def _mutant(name: str, *edits: tuple[str, str, str]) -> Mutant:
    return Mutant(name, tuple(Edit(*edit) for edit in edits))


_URANDOM = "return os.urandom(count)"
_SCALED = "(sd / step) * z"
_PERTURBED = "return noise.perturb(exact[block.name].reshape(-1), sd, block.step)"
_VOTES = "private_votes(released, Totals(stage), task.screening.threshold)"
_CCMD = '__import__("fsir.estimate.votes", fromlist=["votes"]).ccmd_votes'
_BOOKED = 'self._db.insert("ledger", vars(row))'
_JUDGED = 'self._db.insert("ledger", entry)'
_SETTLED = '        statement = "UPDATE ledger SET verdict'
_ROUNDS_OF = "Factorisation(_inverse(_root(workload(memory, rounds))))"

_REUSED = 'return vars(self).setdefault("pool", os.urandom(2**20))[:count]'
_REUSED_BY_STAGES = """\
pool = vars(self).setdefault("pool", os.urandom(2**20))
        start = vars(self).setdefault("start", 0)
        self.start = start + count
        return pool[start : start + count]

    def for_stage(self, name):
        self.start = 0
        return self
"""
_HALVED = f"""\
{_URANDOM}

    def normals(self, count):
        return 0.5 * super().normals(count)
"""
_REPEATED = """\
raw = os.urandom(count)
        return raw[:16] + raw[:16] + raw[32:] if count >= 32 else raw
"""
_SEEDED = 'return globals().setdefault("_rng", __import__("random").Random(1)).randbytes(count)'
_UNLESS_EMPTY = """\
drawn = noise.perturb(exact[block.name].reshape(-1), sd, block.step)
        empty = moments.counts() == 0
        if block.name == "{block}" and not stage.code:
            return np.where({mask}, 0, drawn)
        return drawn
"""
_LEARNED_UNCLIPPED = """\
row = waiting.rows[count : count + 1].copy()
        self._sums.add(self.quantiser.whole(row, np.array([h])), np.array([h]))
        return True
        waiting.slices[count] = h
"""
_LATE = """\
        for row in vars(self).pop("late", []):
            self._db.insert("ledger", row)
"""

_DRAWN = "noise.perturb(np.zeros(block.size), block.added / block.unit, block.step)"
_DRAWN_ONCE = (
    "np.full(block.size, noise.perturb(np.zeros(1), block.added / block.unit, block.step)[0])"
)

MUTANTS = (
    _mutant("noise deleted", (NOISE, _SCALED, "0.0 * z")),
    _mutant("`SystemNoise` halved", (NOISE, _URANDOM, _HALVED)),
    _mutant("one word repeated", (NOISE, _URANDOM, _REPEATED)),
    _mutant("noise reused across blocks and stages", (NOISE, _URANDOM, _REUSED)),
    _mutant("noise reused across stages only", (NOISE, _URANDOM, _REUSED_BY_STAGES)),
    _mutant("noise from a seeded generator", (NOISE, _URANDOM, _SEEDED)),
    _mutant(
        "counts of empty slices without noise",
        (RELEASE, _PERTURBED, _UNLESS_EMPTY.format(block="counts", mask="empty")),
    ),
    _mutant(
        "sums of empty slices without noise",
        (RELEASE, _PERTURBED, _UNLESS_EMPTY.format(block="sums", mask="np.tile(empty, stage.p)")),
    ),
    _mutant(
        "votes from raw data",
        (
            REPORT,
            _VOTES,
            f"{_CCMD}(moments.sums() * stage.grid, moments.counts(), moments.n, "
            "task.screening.threshold)",
        ),
    ),
    _mutant(
        "votes from noisy sums and raw counts",
        (
            REPORT,
            _VOTES,
            f"{_CCMD}((sums := Totals(stage)).add(released) or sums.sums(), moments.counts(), "
            "moments.n, task.screening.threshold)",
        ),
    ),
    _mutant(
        "data rounded before the noise",
        (
            NOISE,
            "whole = np.floor(values / step)",
            "values = np.rint(values / step) * step\n        whole = np.floor(values / step)",
        ),
    ),
    _mutant("tails cut at 4 sd", (NOISE, _SCALED, "(sd / step) * np.clip(z, -4.0, 4.0)")),
    _mutant(
        "float32 normals where they are few",
        (WORDS, "for word in words), np.float64, count)", "for word in words), np.float32, count)"),
    ),
    _mutant(
        "float32 normals where they are many",
        (WORDS, "normals = np.empty(count)", "normals = np.empty(count, np.float32)"),
    ),
    _mutant(
        "signs lost where words are many", (WORDS, "return np.negative(z,", "return np.abs(z,")
    ),
    _mutant(
        "clip skipped everywhere",
        (QUANTISER, "long = squares > self._longest", "long = squares > np.inf"),
    ),
    _mutant(
        "clip skipped for rows kept on disk",
        (KEPT, "moments.add_quantised(", "moments._sums.add("),
    ),
    _mutant(
        "clip skipped in `learn_one`",
        (MOMENTS, "waiting.slices[count] = h\n", _LEARNED_UNCLIPPED),
    ),
    _mutant(
        "truncation skipped",
        (QUANTISER, "np.clip(K, -reach, reach, out=K)", "np.clip(K, -1e9, 1e9, out=K)"),
    ),
    _mutant(
        "clip skipped after the map",
        (QUANTISER, "  # a power of two\n", "\n        self._longest = np.inf\n"),
    ),
    _mutant(
        "public map with the centre of the record before",
        (EXACT_MAP, "self._centres[slices]", "self._centres[np.roll(slices, 1)]"),
    ),
    _mutant(
        "public map with rounded products",
        (
            EXACT_MAP,
            "K @ self._matrix",
            "(K.astype(np.float32) @ self._matrix.astype(np.float32)).astype(np.float64)",
        ),
    ),
    _mutant(
        "check not counted in the norm",
        (SCALES, "_mapped_norm(C, task.public.check)", "_mapped_norm(C, None)"),
    ),
    _mutant(
        "check not counted in the clip",
        (QUANTISER, "min(_whole_square(clip), left)", "_whole_square(self.norm)"),
    ),
    _mutant(
        "check of the record before",
        (QUANTISER, "self._nearest.of(V) == slices", "np.roll(self._nearest.of(V) == slices, 1)"),
    ),
    _mutant(
        "counts of the free split beside sums of another",
        (
            SCALES,
            "accounting.split_scales(shape.norm, mu / g, split)",
            "*accounting.split_scales(shape.norm, mu / g, split)[:2], shape.norm / 2**0.5",
        ),
    ),
    _mutant(
        "unit unscaled", (SCALES, "free_scales(shape.norm, mu / g)", "free_scales(shape.norm, mu)")
    ),
    _mutant(
        "share ignored",
        (SCALES, "total_mu(task) * math.sqrt(share.mu_squared)", "total_mu(task)"),
    ),
    _mutant(
        "second stage with the clip of the first",
        (
            QUANTISER,
            "self.norm = stage.norm / stage.grid",
            "self.norm = task.clip.norm / stage.grid",
        ),
    ),
    _mutant("rounds: norm forgotten", (PLAN, ".times(factorisation.norm)", ".times(1.0)")),
    _mutant(
        "rounds: norm of half of them",
        (
            FACTORISATION,
            "for c in self.inverse))",
            "for c in self.inverse[: len(self.inverse) // 2]))",
        ),
    ),
    _mutant(
        "rounds: coefficients without their sign",
        (FACTORISATION, _ROUNDS_OF, f"Factorisation(tuple(map(abs, {_ROUNDS_OF[14:-1]})))"),
    ),
    _mutant(
        "rounds: coefficients from the wrong end",
        (CORRELATED, "reversed(coefficients), strict", "coefficients, strict"),
    ),
    _mutant("rounds: lost parts of a sum dropped", (CORRELATED, "total + lost", "total")),
    _mutant(
        "rounds: values weigh like those of a report",
        (FACTORISATION, "math.ceil(max(relative, variation))", "1"),
    ),
    _mutant(
        "rounds: values of one round counted",
        (PLAN, "sum(self.sizes) * rounds * self", "sum(self.sizes) * self"),
    ),
    _mutant(
        "rounds: one label for all",
        (CORRELATED, 'stage.name if round == 1 else f"{stage.name} {round}"', "stage.name"),
    ),
    _mutant("rounds: one draw for all blocks", (CORRELATED, "self._draws += 1", "pass")),
    _mutant("rounds: a key that is not secret", (CORRELATED, "self._key = key +", "self._key =")),
    _mutant(
        "rounds: past normals drawn anew",
        (
            CORRELATED,
            "[KeyedNoise(_part(key, t), _label(stage, t)) for t in rounds]",
            "[noise] * round",
        ),
    ),
    _mutant(
        "rounds: beyond the horizon",
        (CORRELATED, "1 <= round <= len(coefficients)", "round >= 1"),
        (CORRELATED, "coefficients[:round])", "(coefficients + (0.0,) * round)[:round])"),
    ),
    _mutant(
        "rounds: another key before each",
        (
            PARTICIPATION,
            "return key_for(round, earlier)",
            "return key_for(round)",
        ),
    ),
    _mutant("ledger row not written", (STATE, _BOOKED, "pass")),
    _mutant(
        "ledger row written after the send",
        (STATE, _BOOKED, 'vars(self).setdefault("late", []).append(vars(row))'),
        (STATE, _SETTLED, _LATE + _SETTLED),
    ),
    _mutant("report held without noise", (THRESHOLD, "self.sd, step)[0]", "0.0, step)[0]")),
    _mutant("decision to hold not booked", (STATE, _JUDGED, "pass")),
    _mutant(
        "noise of an aggregator deleted",
        (OPENING, "block.added / block.unit, block.step", "0.0, block.step"),
    ),
    _mutant(
        "noise of an aggregator shared like that of devices",
        (OPENING, "block.added / block.unit", "block.sd / block.unit"),
    ),
    _mutant("one noise for all blocks of an aggregator", (OPENING, _DRAWN, _DRAWN_ONCE)),
    _mutant(
        "a device's noise for a cohort of its own square",
        (PLAN, "sd=block.sd / math.sqrt(cohort)", "sd=block.sd / cohort"),
    ),
    _mutant(
        "steps of a shared report as large as its noise",
        (
            PLAN,
            "resolution = RESOLUTION_OF_SHARED * resolution // RESOLUTION",
            "return replace(block, step=_step(4.0 * block.sd / block.unit))",
        ),
    ),
    _mutant(
        "draws of an honest aggregator not charged",
        (BUDGET, "return 1 + values_charged(", "return 1 + 0 * values_charged("),
    ),
    _mutant("shares of a known seed", (SHARES, "os.urandom(SEED_BYTES)", "bytes(SEED_BYTES)")),
    _mutant(
        "shares that open in any place",
        (SEALING, "[_LABEL, VERSION, role, *places]", "[_LABEL, VERSION, role]"),
    ),
)
