"""Features mapped to [-1, 1] by public ranges.

The ranges come from physics and from the definitions of the statistics, never from a data set.

Three maps, each clipped at its ends, so that a record has a bounded norm whatever the sensor does:
    linear   low to -1, high to +1: directions, correlations, entropies, indices, autoregression
    decades  0 to -1, high to +1, logarithmic above `low`: what is positive and spans the decades
             between sensor noise and vigorous motion (deviations, energies, amplitudes). A phone on
             a table and a phone in the pocket of someone walking differ by a factor of a hundred in
             amplitude and ten thousand in energy: linearly, all but the wildest windows would be
             the same number
    signed   the same on both sides of zero: means and extremes of signals that swing
`low` is about the noise of a phone's sensor after the 20 Hz filter, `high` what legs and hands can
do.
"""

from __future__ import annotations

from math import comb

import numpy as np

from edge_agent.signal.names import AXES, FEATURE_NAMES
from fsir.arrays import Matrix

# Amplitudes (low, high): g, g per sample, rad/s, rad/s per sample.
AMPLITUDES = {
    "GravityAcc": (5e-4, 0.2),
    "BodyAcc": (2e-3, 1.0),
    "BodyAccJerk": (2e-3, 0.5),
    "BodyGyro": (5e-3, 5.0),
    "BodyGyroJerk": (5e-3, 2.5),
}
# One g, and room for a sensor whose zero and scale are a little off.
GRAVITY_G = 1.25
# White noise of deviation s has amplitudes of about s/8 in the 64 bins of a window of 128.
SPECTRAL_NOISE = 1 / 8

LINEAR, DECADES, SIGNED = range(3)


def _amplitude(signal: str) -> tuple[float, float]:
    # The magnitude called gravity is a copy of the body's (see features.py), and has its range.
    name = signal[1:].replace("BodyBody", "Body").replace("GravityAccMag", "BodyAcc")
    return AMPLITUDES[name.removesuffix("Mag")]


def _range(name: str) -> tuple[int, float, float]:
    """The map of one feature: its kind, low and high."""
    if name.startswith("angle"):
        return LINEAR, 0.0, np.pi
    signal, statistic = name.split("-")[:2]
    spectrum = signal.startswith("f")
    low, high = _amplitude(signal)
    if spectrum:
        low, high = low * SPECTRAL_NOISE, high / 2
    match statistic.split("(")[0]:
        case "arCoeff":
            # Burg's polynomial has its zeros in the unit disc, so |a_k| <= binomial(4, k).
            bound = float(comb(4, int(name[-1])))
            return LINEAR, -bound, bound
        case "correlation":
            return LINEAR, -1.0, 1.0
        case "entropy":
            return LINEAR, 0.0, 6.0 if spectrum else 7.0
        case "maxInds" | "meanFreq":
            return LINEAR, 0.0, 63.0
        case "skewness":
            return LINEAR, 0.0, 8.0
        case "kurtosis":
            return DECADES, 1.0, 64.0
        case "mean" | "max" | "min" if signal == "tGravityAcc":
            return LINEAR, -GRAVITY_G, GRAVITY_G
        case "energy" if signal == "tGravityAcc":
            return LINEAR, 0.0, GRAVITY_G**2
        case "sma" if signal == "tGravityAcc":
            return LINEAR, 0.0, 3**0.5 * GRAVITY_G
        case "mean" | "max" | "min" if not spectrum and name.endswith(AXES):
            return SIGNED, low, high
        case "energy" | "bandsEnergy":
            return DECADES, low**2, high**2
        case "mean" | "std" | "mad" | "max" | "min" | "iqr" | "sma":
            return DECADES, low, high
    raise ValueError(f"the feature {name!r} has no public range")


_KIND, _LOW, _HIGH = (np.array(column) for column in zip(*map(_range, FEATURE_NAMES), strict=True))
_IS_LINEAR = _KIND == LINEAR
# What a linear map has no use for becomes 1: all columns go through the same few operations.
_NOISE = np.where(_IS_LINEAR, 1.0, _LOW)
_DECADES = np.log1p(_HIGH / _NOISE)


def scale(features: Matrix) -> Matrix:
    """Unscaled features (m x 561, or one row) to [-1, 1]."""
    x = np.asarray(features, dtype=np.float64)
    if x.shape[-1:] != (len(FEATURE_NAMES),):
        raise ValueError(
            f"features of shape {x.shape}: "
            f"scale takes the {len(FEATURE_NAMES)} columns of features()"
        )
    linear = 2 * (x - _LOW) / (_HIGH - _LOW) - 1
    decades = np.log1p(np.abs(x) / _NOISE) / _DECADES
    spread = np.where(_KIND == SIGNED, np.sign(x) * decades, 2 * decades - 1)
    return np.clip(np.where(_IS_LINEAR, linear, spread), -1.0, 1.0)
