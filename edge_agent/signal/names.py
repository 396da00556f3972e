"""The 561 features of the UCI set by name, built from their structure: signals x statistics x axes.

The names are those of its features.txt, its slips included (`fBodyBody...`, the brackets of the
second angle). There the 42 `bandsEnergy` names stand for three axes each; here the axis is
appended: `fBodyAcc-bandsEnergy()-1,8-X`.
"""

from __future__ import annotations

from itertools import chain

AXES = ("X", "Y", "Z")
PAIRS = (("X", "Y"), ("X", "Z"), ("Y", "Z"))
AR_ORDER = 4
# First and last bin, counted from 1: eight bands of 8, four of 16, two of 24.
BANDS = tuple(
    (low + 1, low + width)
    for width, stop in ((8, 64), (16, 64), (24, 48))
    for low in range(0, stop, width)
)

TIME_SIGNALS = ("tBodyAcc", "tGravityAcc", "tBodyAccJerk", "tBodyGyro", "tBodyGyroJerk")
TIME_MAGNITUDES = tuple(f"{signal}Mag" for signal in TIME_SIGNALS)
SPECTRA = ("fBodyAcc", "fBodyAccJerk", "fBodyGyro")
SPECTRA_OF_MAGNITUDES = (
    "fBodyAccMag",
    "fBodyBodyAccJerkMag",
    "fBodyBodyGyroMag",
    "fBodyBodyGyroJerkMag",
)
ANGLES = (
    "angle(tBodyAccMean,gravity)",
    "angle(tBodyAccJerkMean),gravityMean)",
    "angle(tBodyGyroMean,gravityMean)",
    "angle(tBodyGyroJerkMean,gravityMean)",
    *(f"angle({axis},gravityMean)" for axis in AXES),
)

BEFORE_SMA = ("mean()", "std()", "mad()", "max()", "min()")
AFTER_SMA = ("energy()", "iqr()", "entropy()")
STATISTICS = BEFORE_SMA + AFTER_SMA
SHAPE = ("skewness()", "kurtosis()")


def of(signal: str, statistic: str, axis: str = "") -> str:
    """The name of one statistic of one signal; a magnitude has no axis.

    >>> of("tBodyAcc", "mean()", "X"), of("tBodyAccMag", "std()")
    ('tBodyAcc-mean()-X', 'tBodyAccMag-std()')
    """
    return f"{signal}-{statistic}" + (f"-{axis}" if axis else "")


def ar(signal: str, k: int, axis: str = "") -> str:
    """The name of the k-th autoregression coefficient of one signal."""
    return f"{signal}-arCoeff()" + (f"-{axis},{k}" if axis else f"{k}")


def correlation(signal: str, pair: tuple[str, str]) -> str:
    """The name of the correlation of two axes of one signal."""
    return f"{signal}-correlation()-{pair[0]},{pair[1]}"


def band(signal: str, low: int, high: int, axis: str) -> str:
    """The name of the energy in one band of one axis; low, high: first and last bin, from 1."""
    return f"{signal}-bandsEnergy()-{low},{high}-{axis}"


def _common(signal: str, axes: tuple[str, ...]) -> list[str]:
    before = [of(signal, statistic, axis) for statistic in BEFORE_SMA for axis in axes]
    after = [of(signal, statistic, axis) for statistic in AFTER_SMA for axis in axes]
    return [*before, of(signal, "sma()"), *after]


def _time(signal: str, axes: tuple[str, ...]) -> list[str]:
    coefficients = [ar(signal, k, axis) for axis in axes for k in range(1, AR_ORDER + 1)]
    pairs = [correlation(signal, pair) for pair in PAIRS] if len(axes) == 3 else []
    return [*_common(signal, axes), *coefficients, *pairs]


def _spectrum(signal: str, axes: tuple[str, ...]) -> list[str]:
    places = [of(signal, place, axis) for place in ("maxInds", "meanFreq()") for axis in axes]
    shape = [of(signal, statistic, axis) for axis in axes for statistic in SHAPE]
    bands = []
    if len(axes) == 3:
        bands = [band(signal, low, high, axis) for axis in axes for low, high in BANDS]
    return [*_common(signal, axes), *places, *shape, *bands]


FEATURE_NAMES: tuple[str, ...] = (
    *chain.from_iterable(_time(signal, AXES) for signal in TIME_SIGNALS),
    *chain.from_iterable(_time(signal, ("",)) for signal in TIME_MAGNITUDES),
    *chain.from_iterable(_spectrum(signal, AXES) for signal in SPECTRA),
    *chain.from_iterable(_spectrum(signal, ("",)) for signal in SPECTRA_OF_MAGNITUDES),
    *ANGLES,
)
