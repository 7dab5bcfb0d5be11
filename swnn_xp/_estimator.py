"""Scikit-learn's habits of an estimator, without importing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self


class NotFittedError(ValueError, AttributeError):
    """The classifier has seen no training rows yet."""


class Estimator:
    """Parameters are the arguments of the constructor; a fitted one has a ``model_``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn asks for."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; those that concern voting and ranking need no new `fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"no parameter {name!r}; there are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Describe the classifier to scikit-learn (only called by scikit-learn itself)."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            classifier_tags=ClassifierTags(multi_class=False, multi_label=True),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({params})"
