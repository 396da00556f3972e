"""From windows of nine signals to the 561 features of the UCI set, under its names and by its definitions.

    >>> import numpy as np
    >>> from edge_agent.signal.features import FEATURE_NAMES, features
    >>> features(np.random.default_rng(0).normal(size=(2, 9, 128))).shape, len(FEATURE_NAMES)
    ((2, 561), 561)

Signals are in g and rad/s, jerks in differences per sample (not per second), spectra are one-sided amplitudes
`2 |FFT| / n` of the bins 1 to 64: without the mean, with half of the rate. `tGravityAccMag` is a copy of `tBodyAccMag`,
as in the published set. Which definition was found for which column, and how closely: docs/features.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from edge_agent.signal import names
from edge_agent.signal import statistics as stat
from edge_agent.signal.names import FEATURE_NAMES
from edge_agent.signal.scale import scale

__all__ = ["CHANNELS", "FEATURE_NAMES", "features", "scale"]

Array = NDArray[np.float64]

CHANNELS = tuple(
    f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"
)
WINDOW = 128
# Windows at a time: bounds the memory of a long batch, and no more than a few windows come at once in a stream.
BLOCK = 32

_ROWS = tuple((signal, axis) for signal in names.TIME_SIGNALS for axis in names.AXES)
_MAGNITUDES = tuple((signal, "") for signal in names.TIME_MAGNITUDES if signal != "tGravityAccMag")
_TIME = _ROWS + _MAGNITUDES
_SPECTRA = tuple((signal, axis) for signal in names.SPECTRA for axis in names.AXES)
_FREQUENCY = _SPECTRA + tuple((signal, "") for signal in names.SPECTRA_OF_MAGNITUDES)
# Body acceleration, its jerk, angular velocity; then the four magnitudes.
_TRANSFORMED = (0, 1, 2, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18)


def features(signals: Array) -> Array:
    """The features of windows, unscaled: m x 9 x 128 (channels in the order of CHANNELS) to m x 561.

    With m x 9 x 129 the last sample is the one that follows the window: only the last difference of the jerks looks at
    it. Without it that difference is the one before, once more.
    """
    signals = np.asarray(signals, dtype=np.float64)
    if (
        signals.ndim != 3
        or signals.shape[1] != len(CHANNELS)
        or signals.shape[2] not in (WINDOW, WINDOW + 1)
    ):
        expected = f"m x {len(CHANNELS)} x {WINDOW}, or {WINDOW + 1} with the sample that follows"
        raise ValueError(f"signals have shape {signals.shape}: expected {expected}")
    out = np.empty((len(signals), len(FEATURE_NAMES)))
    for start in range(0, len(signals), BLOCK):
        out[start : start + BLOCK] = _block(signals[start : start + BLOCK])
    return out


def _jerk(x: Array) -> Array:
    difference = np.diff(x, axis=-1)
    if difference.shape[-1] == WINDOW:
        return difference
    return np.concatenate([difference, difference[..., -1:]], axis=-1)


def _block(signals: Array) -> Array:
    m = len(signals)
    now = signals[..., :WINDOW]
    body, gyro = now[:, 0:3], now[:, 3:6]
    gravity = now[:, 6:9] - body
    body_jerk, gyro_jerk = _jerk(signals[:, 0:3]), _jerk(signals[:, 3:6])
    magnitudes = [
        np.sqrt((x * x).sum(1, keepdims=True)) for x in (body, body_jerk, gyro, gyro_jerk)
    ]
    time = np.concatenate([body, gravity, body_jerk, gyro, gyro_jerk, *magnitudes], axis=1)
    spectra = np.abs(np.fft.rfft(time[:, _TRANSFORMED], axis=-1)[..., 1:]) * (2 / WINDOW)
    tables = [
        *_common(time),
        *_of_time(time),
        *_common(spectra),
        *_of_spectra(spectra),
        _angles(time),
    ]
    return np.concatenate([table.reshape(m, -1) for table in tables], axis=1)[:, _ORDER]


def _common(x: Array) -> Iterator[Array]:
    mean = x.mean(-1)
    yield mean
    yield x.std(-1, ddof=1)
    yield np.abs(x - mean[..., None]).mean(-1)
    yield x.max(-1)
    yield x.min(-1)
    yield (x * x).mean(-1)
    yield stat.interquartile_range(x)
    yield stat.grey_entropy(x)
    area = np.abs(x).mean(-1)
    axial = x.shape[1] - len(_MAGNITUDES)
    yield area[:, :axial].reshape(len(x), -1, 3).sum(-1)
    yield area[:, axial:]


def _of_time(x: Array) -> Iterator[Array]:
    yield stat.burg(x, names.AR_ORDER)
    triples = x[:, : len(_ROWS)].reshape(len(x), -1, 3, WINDOW)
    yield stat.correlations(
        triples, tuple((names.AXES.index(i), names.AXES.index(j)) for i, j in names.PAIRS)
    )


def _of_spectra(f: Array) -> Iterator[Array]:
    bins = np.arange(f.shape[-1])
    yield f.argmax(-1).astype(np.float64)
    yield stat.divide((f * bins).sum(-1), f.sum(-1))
    yield stat.skewness_and_kurtosis(f)
    power = f[:, : len(_SPECTRA)] ** 2
    yield np.stack([power[..., low - 1 : high].sum(-1) for low, high in names.BANDS], axis=-1)


def _angles(time: Array) -> Array:
    means = time[:, : len(_ROWS)].mean(-1).reshape(len(time), -1, 3)
    body, gravity, body_jerk, gyro, gyro_jerk = (
        means[:, i] for i in range(len(names.TIME_SIGNALS))
    )
    axes = (np.broadcast_to(axis, gravity.shape) for axis in np.eye(3))
    return np.stack(
        [stat.angle(v, gravity) for v in (body, body_jerk, gyro, gyro_jerk, *axes)], axis=-1
    )


def _computed() -> Iterator[str]:
    """The names of the columns in the order in which `_block` computes them."""
    for rows, triples in ((_TIME, names.TIME_SIGNALS), (_FREQUENCY, names.SPECTRA)):
        yield from (
            names.of(signal, statistic, axis)
            for statistic in names.STATISTICS
            for signal, axis in rows
        )
        yield from (names.of(signal, "sma()") for signal in triples)
        yield from (names.of(signal, "sma()") for signal, axis in rows if not axis)
        if rows is _TIME:
            yield from (
                names.ar(signal, k, axis)
                for signal, axis in rows
                for k in range(1, names.AR_ORDER + 1)
            )
            yield from (
                names.correlation(signal, pair) for signal in triples for pair in names.PAIRS
            )
        else:
            yield from (
                names.of(signal, place, axis)
                for place in ("maxInds", "meanFreq()")
                for signal, axis in rows
            )
            yield from (
                names.of(signal, shape, axis) for signal, axis in rows for shape in names.SHAPE
            )
            yield from (
                names.band(signal, *ends, axis) for signal, axis in _SPECTRA for ends in names.BANDS
            )
    yield from names.ANGLES


def _order() -> NDArray[np.intp]:
    place = {name: i for i, name in enumerate(_computed())}
    wanted = (name.replace("tGravityAccMag", "tBodyAccMag") for name in FEATURE_NAMES)
    return np.array([place[name] for name in wanted], dtype=np.intp)


_ORDER = _order()
