"""Mistakes in the release: noise, clip, map, and how the budget is split."""

from __future__ import annotations

from tools.mutants.mutant import mutant

NOISE = "fsir/privacy/noise.py"
WORDS = "fsir/privacy/normal/words.py"
RELEASE = "fsir/privacy/release.py"
QUANTISER = "fsir/privacy/quantiser.py"
EXACT_MAP = "fsir/task/exact_map.py"
SCALES = "fsir/privacy/scales.py"
MOMENTS = "fsir/privacy/moments.py"

_URANDOM = "return os.urandom(count)"
_SCALED = "(sd / step) * z"
_PERTURBED = "return noise.perturb(exact[block.name].reshape(-1), sd, block.step)"
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

MUTANTS = (
    mutant("noise deleted", (NOISE, _SCALED, "0.0 * z")),
    mutant("`SystemNoise` halved", (NOISE, _URANDOM, _HALVED)),
    mutant("one word repeated", (NOISE, _URANDOM, _REPEATED)),
    mutant("noise reused across blocks and stages", (NOISE, _URANDOM, _REUSED)),
    mutant("noise reused across stages only", (NOISE, _URANDOM, _REUSED_BY_STAGES)),
    mutant("noise from a seeded generator", (NOISE, _URANDOM, _SEEDED)),
    mutant(
        "counts of empty slices without noise",
        (RELEASE, _PERTURBED, _UNLESS_EMPTY.format(block="counts", mask="empty")),
    ),
    mutant(
        "sums of empty slices without noise",
        (RELEASE, _PERTURBED, _UNLESS_EMPTY.format(block="sums", mask="np.tile(empty, stage.p)")),
    ),
    mutant(
        "data rounded before the noise",
        (
            NOISE,
            "whole = np.floor(values / step)",
            "values = np.rint(values / step) * step\n        whole = np.floor(values / step)",
        ),
    ),
    mutant("tails cut at 4 sd", (NOISE, _SCALED, "(sd / step) * np.clip(z, -4.0, 4.0)")),
    mutant(
        "float32 normals",
        (WORDS, "normals = np.empty(len(halves))", "normals = np.empty(len(halves), np.float32)"),
    ),
    mutant(
        "far tails from half of a word",
        (WORDS, "np.flatnonzero(high < _LONG)", "np.flatnonzero(high < 0)"),
    ),
    mutant("signs lost", (WORDS, "return np.negative(z,", "return np.abs(z,")),
    mutant(
        "clip skipped everywhere",
        (QUANTISER, "np.flatnonzero(squares > self._longest)", "np.flatnonzero(squares > np.inf)"),
    ),
    mutant(
        "clip skipped in `learn_one`",
        (MOMENTS, "waiting.slices[count] = h\n", _LEARNED_UNCLIPPED),
    ),
    mutant(
        "truncation skipped",
        (QUANTISER, "K.clip(-reach, reach, out=K)", "K.clip(-1e9, 1e9, out=K)"),
    ),
    mutant(
        "clip skipped after the map",
        (QUANTISER, "  # a power of two\n", "\n        self._longest = np.inf\n"),
    ),
    mutant(
        "public map with the centre of the record before",
        (EXACT_MAP, "self._centres[slices]", "self._centres[np.roll(slices, 1)]"),
    ),
    mutant(
        "public map with rounded products",
        (
            EXACT_MAP,
            "K @ self._matrix",
            "(K.astype(np.float32) @ self._matrix.astype(np.float32)).astype(np.float64)",
        ),
    ),
    mutant(
        "check not counted in the norm",
        (SCALES, "_mapped_norm(C, task.public.check)", "_mapped_norm(C, None)"),
    ),
    mutant(
        "check not counted in the clip",
        (QUANTISER, "min(_whole_square(clip), left)", "_whole_square(self.norm)"),
    ),
    mutant(
        "check of the record before",
        (QUANTISER, "self._nearest.of(V) == slices", "np.roll(self._nearest.of(V) == slices, 1)"),
    ),
    mutant(
        "counts of the free split beside sums of another",
        (
            SCALES,
            "accounting.split_scales(shape.norm, mu / g, split)",
            "*accounting.split_scales(shape.norm, mu / g, split)[:2], shape.norm / 2**0.5",
        ),
    ),
    mutant(
        "unit unscaled", (SCALES, "free_scales(shape.norm, mu / g)", "free_scales(shape.norm, mu)")
    ),
    mutant(
        "share ignored",
        (SCALES, "total_mu(task) * math.sqrt(share.mu_squared)", "total_mu(task)"),
    ),
    mutant(
        "second stage with the clip of the first",
        (
            QUANTISER,
            "self.norm = stage.norm / stage.grid",
            "self.norm = task.clip.norm / stage.grid",
        ),
    ),
)
