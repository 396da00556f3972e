"""From windows of nine signals to the 561 features of the UCI set, by its names and definitions.

    >>> import numpy as np
    >>> from edge_agent.signal.features import FEATURE_NAMES, features
    >>> features(np.random.default_rng(0).normal(size=(2, 9, 128))).shape, len(FEATURE_NAMES)
    ((2, 561), 561)

Signals are in g and rad/s, jerks in differences per sample (not per second), spectra are one-sided
amplitudes `2 |FFT| / n` of the bins 1 to 64: without the mean, with half of the rate.
`tGravityAccMag` is a copy of `tBodyAccMag`, as in the published set. Which definition was found for
which column, and how closely: docs/features.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from edge_agent.signal import names
from edge_agent.signal import statistics as stat
from edge_agent.signal.grid import WINDOW
from edge_agent.signal.names import FEATURE_NAMES
from edge_agent.signal.scale import scale
from fsir.arrays import Matrix

__all__ = ["CHANNELS", "FEATURE_NAMES", "features", "scale"]

CHANNELS = tuple(
    f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"
)
# Windows at a time: what is made of them on the way stays in the processor's cache, and the memory
# of a long batch is bounded; in a stream only a few come at once.
BLOCK_WINDOWS = 16

_ROWS = tuple((signal, axis) for signal in names.TIME_SIGNALS for axis in names.AXES)
_MAGNITUDES = tuple((signal, "") for signal in names.TIME_MAGNITUDES if signal != "tGravityAccMag")
_TIME = _ROWS + _MAGNITUDES
_SPECTRA = tuple((signal, axis) for signal in names.SPECTRA for axis in names.AXES)
_FREQUENCY = _SPECTRA + tuple((signal, "") for signal in names.SPECTRA_OF_MAGNITUDES)
# Body acceleration, its jerk, angular velocity; then the four magnitudes.
_TRANSFORMED = (0, 1, 2, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18)


def features(signals: Matrix) -> Matrix:
    """The features of windows, unscaled: m x 9 x 128 to m x 561, channels in the order of CHANNELS.

    With m x 9 x 129 the last sample is the one that follows the window: only the last difference of
    the jerks looks at it. Without it that difference is the one before, once more.
    """
    signals = np.asarray(signals, dtype=np.float64)
    shapes = [(len(CHANNELS), samples) for samples in (WINDOW, WINDOW + 1)]
    if signals.ndim != 3 or signals.shape[1:] not in shapes:
        expected = f"m x {len(CHANNELS)} x {WINDOW}, or {WINDOW + 1} with the sample that follows"
        raise ValueError(f"signals have shape {signals.shape}: expected {expected}")
    out = np.empty((len(signals), len(FEATURE_NAMES)))
    for start in range(0, len(signals), BLOCK_WINDOWS):
        block = slice(start, start + BLOCK_WINDOWS)
        out[block] = _block(signals[block])
    return out


def _jerk(x: Matrix) -> Matrix:
    difference = np.diff(x, axis=-1)
    if difference.shape[-1] == WINDOW:
        return difference
    return np.concatenate([difference, difference[..., -1:]], axis=-1)


def _block(signals: Matrix) -> Matrix:
    m = len(signals)
    # Sample by sample: what is summed over time is so for all signals and windows at once.
    signals = np.asfortranarray(signals)
    now = signals[..., :WINDOW]
    body = now[:, 0:3]
    gyro = now[:, 3:6]
    gravity = now[:, 6:9] - body
    body_jerk = _jerk(signals[:, 0:3])
    gyro_jerk = _jerk(signals[:, 3:6])
    moving = (body, body_jerk, gyro, gyro_jerk)
    magnitudes = [np.sqrt((x * x).sum(1, keepdims=True)) for x in moving]
    time = np.concatenate([body, gravity, body_jerk, gyro, gyro_jerk, *magnitudes], axis=1)
    transformed = np.fft.rfft(np.ascontiguousarray(time[:, _TRANSFORMED]))
    spectra = np.abs(transformed[..., 1:]) * (2 / WINDOW)
    tables = [
        *_common(time),
        *_of_time(time),
        *_common(spectra),
        *_of_spectra(spectra),
        _angles(time),
    ]
    return np.concatenate([table.reshape(m, -1) for table in tables], axis=1)[:, _ORDER]


def _common(x: Matrix) -> Iterator[Matrix]:
    mean = x.mean(-1)
    centred = x - mean[..., None]
    yield mean
    yield np.sqrt((centred * centred).sum(-1) / (x.shape[-1] - 1))
    yield np.abs(centred).mean(-1)
    yield x.max(-1)
    yield x.min(-1)
    yield (x * x).mean(-1)
    yield stat.interquartile_range(x)
    yield stat.grey_entropy(x)
    area = np.abs(x).mean(-1)
    axial = x.shape[1] - len(_MAGNITUDES)
    yield area[:, :axial].reshape(len(x), -1, 3).sum(-1)
    yield area[:, axial:]


def _of_time(x: Matrix) -> Iterator[Matrix]:
    yield stat.burg(x, names.AR_ORDER)
    triples = x[:, : len(_ROWS)].reshape(len(x), -1, 3, WINDOW)
    pairs = tuple((names.AXES.index(i), names.AXES.index(j)) for i, j in names.PAIRS)
    yield stat.correlations(triples, pairs)


def _of_spectra(f: Matrix) -> Iterator[Matrix]:
    bins = np.arange(f.shape[-1])
    yield f.argmax(-1).astype(np.float64)
    yield stat.divide((f * bins).sum(-1), f.sum(-1))
    yield stat.skewness_and_kurtosis(f)
    power = f[:, : len(_SPECTRA)] ** 2
    yield np.stack([power[..., low - 1 : high].sum(-1) for low, high in names.BANDS], axis=-1)


def _angles(time: Matrix) -> Matrix:
    means = time[:, : len(_ROWS)].mean(-1).reshape(len(time), -1, 3)
    gravity = names.TIME_SIGNALS.index("tGravityAcc")
    axes = np.broadcast_to(np.eye(3), (len(time), 3, 3))
    vectors = np.concatenate([np.delete(means, gravity, axis=1), axes], axis=1)
    return stat.angle(vectors, means[:, [gravity]])


def _computed() -> Iterator[str]:
    """The names of the columns in the order in which `_block` computes them."""
    yield from _named_common(_TIME, names.TIME_SIGNALS)
    yield from _named_of_time()
    yield from _named_common(_FREQUENCY, names.SPECTRA)
    yield from _named_of_spectra()
    yield from names.ANGLES


def _named_common(rows: tuple[tuple[str, str], ...], triples: tuple[str, ...]) -> Iterator[str]:
    for statistic in names.STATISTICS:
        yield from (names.of(signal, statistic, axis) for signal, axis in rows)
    yield from (names.of(signal, "sma()") for signal in triples)
    yield from (names.of(signal, "sma()") for signal, axis in rows if not axis)


def _named_of_time() -> Iterator[str]:
    orders = range(1, names.AR_ORDER + 1)
    yield from (names.ar(signal, k, axis) for signal, axis in _TIME for k in orders)
    for signal in names.TIME_SIGNALS:
        yield from (names.correlation(signal, pair) for pair in names.PAIRS)


def _named_of_spectra() -> Iterator[str]:
    for place in ("maxInds", "meanFreq()"):
        yield from (names.of(signal, place, axis) for signal, axis in _FREQUENCY)
    for signal, axis in _FREQUENCY:
        yield from (names.of(signal, shape, axis) for shape in names.SHAPE)
    for signal, axis in _SPECTRA:
        yield from (names.band(signal, *ends, axis) for ends in names.BANDS)


def _order() -> NDArray[np.intp]:
    place = {name: i for i, name in enumerate(_computed())}
    wanted = (name.replace("tGravityAccMag", "tBodyAccMag") for name in FEATURE_NAMES)
    return np.array([place[name] for name in wanted], dtype=np.intp)


_ORDER = _order()
