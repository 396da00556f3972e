"""The words of the page that not everybody knows, and what they mean."""

from __future__ import annotations

from fsir.net.web.markup import Markup, tag

TERMS = {
    "counted": "A device is counted once its report of the current stage was checked and added to "
    "the totals. Its receipt says so.",
    "waits for": "What has to happen before the task goes on by itself.",
    "rate": "How many reports are counted in an hour, at the pace of late.",
    "stage": "A task has one stage, or two: in screening, a first and noisier report says which "
    "features matter; the final report is about those alone.",
    "round": "Each device reports again from its next records, round after round, as long as the "
    "task says. The estimate adds the rounds up.",
    "moved": "How far the directions have moved from the version before, in units of the expected "
    "error. About 1.4 is what two estimates differ by that have nothing in common but the truth.",
    "active set": "The features that screening has chosen. Final reports are about these.",
    "records": "One record is one set of measurements, such as those of two seconds. Records stay "
    "on the device; a report is noisy sums over many.",
    "subspace": "The few directions that were learned. Each record is reduced to as many numbers "
    "as there are directions.",
    "expected error": "How far the learned directions are expected to be from the true ones: 0 is "
    "exact. It comes from the noise that devices add, not from a test.",
    "nothing learned": "The error of directions that were drawn by lot.",
    "expected accuracy": "How often the classifier is expected to be right about people who took "
    "no part.",
    "forecast": "What twice as many devices like these would give, by the same computation.",
    "direction": "A weighted sum of the features. The bars show the weights (loadings), of which "
    "the squares add up to 1.",
    "loading": "The weight of a feature in a direction. A feature with a small one hardly matters "
    "for it. The sign says which way.",
    "uncertainty": "One standard deviation of a loading, if the expected error is as likely to be "
    "in any direction as in any other. A bar shorter than it may well be noise.",
    "class centre": "Where the records of a class lie on average, in the first two directions.",
    "ellipse": "One standard deviation of the records of any class around its centre. The further "
    "they lie apart, the better classes can be told from each other.",
    "share": "How much of all records belongs to the class.",
    "singular value": "How strongly what is to be told, a class or a number, changes along a "
    "direction. What does not exceed the noise may well be noise alone.",
    "noise": "If there were nothing to learn, the largest singular value would stay below this in "
    "19 cases of 20.",
    "refused": "A message that was not counted. Its sender is told why.",
    "roster": "The list of names that are expected. It lets nobody in; of those whom the broker "
    "lets in, only the helper of two aggregators keeps out who is not on it.",
    "version": "Each estimate that was published is a version, and devices use the newest.",
    "angle": "By how much the directions have turned from the version before: the largest angle, "
    "at most 90 degrees. It becomes small once enough devices have reported.",
    "broker": "The MQTT server over which devices and aggregator talk.",
    "store": "The file that keeps every counted report.",
}


def term(place: str, word: str, shown: str | None = None) -> Markup:
    """A word that explains itself on hover, on a tap and for a screen reader."""
    key = f"{place}-{word.replace(' ', '-')}"
    text = word if shown is None else shown
    button = tag("button", text, type="button", class_="term", id=key, aria_describedby=f"{key}-is")
    return tag(
        "span", button, tag("span", TERMS[word], class_="tip", id=f"{key}-is", role="tooltip")
    )
