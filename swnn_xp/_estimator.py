"""What scikit-learn expects of an estimator, without importing scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Self


class NotFittedError(ValueError, AttributeError):
    """The estimator has no training rows yet."""


class Estimator:
    """Parameters are the arguments of the constructor; a fitted estimator has a ``_model``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they count from the next call on, without a new `fit`."""
        self._check_known(params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    @classmethod
    def _check_known(cls, params: Iterable[str]) -> None:
        known = cls._parameter_names()
        for name in params:
            if name not in known:
                raise ValueError(f"no parameter {name!r}; there are {', '.join(known)}")

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn (only called by scikit-learn itself)."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            classifier_tags=ClassifierTags(multi_class=False, multi_label=True),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({params})"
