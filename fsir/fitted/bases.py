"""What a fitted subspace inherits: scikit-learn's bases if it is installed, else hardly anything.

Everything that counts works without them; with them it is an estimator like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Alone:
    """The little of scikit-learn's bases that is worth having without it."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the constructor was given."""
        return {"task": vars(self)["task"], "message": vars(self)["message"]}


Estimator = Alone

if not TYPE_CHECKING:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    except ModuleNotFoundError:
        pass
    else:

        class Estimator(ClassifierMixin, TransformerMixin, BaseEstimator):
            """A transformer, and where there are classes a classifier, that is never fitted."""

            def __sklearn_tags__(self):  # noqa: ANN204
                tags = super().__sklearn_tags__()
                tags.requires_fit = False
                tags.target_tags.required = False
                if self.message.classifier is None:
                    tags.estimator_type = None
                    tags.classifier_tags = None
                return tags

            def __sklearn_is_fitted__(self) -> bool:
                return True
