"""What scikit-learn expects of an estimator, without importing scikit-learn.

Whatever needs scikit-learn is looked up when scikit-learn itself asks for it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from typing import Any, Self


class NotFittedError(ValueError, AttributeError):
    """The estimator has no training rows yet."""


class ModelChangedError(RuntimeError):
    """Another thread changed the model while this change was being made; nothing was changed."""


def not_fitted(estimator: object) -> NotFittedError:
    """The error to raise; it is scikit-learn's too where scikit-learn is in use."""
    name = type(estimator).__name__
    return _error_class("sklearn.exceptions" in sys.modules)(
        f"this {name} is not fitted yet; call fit(X, y) first"
    )


class Request:
    """A method such as ``set_fit_request``, made by scikit-learn from the arguments of ``fit``.

    It is there only where scikit-learn is in use, and only if there are such arguments.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        made = None
        if "sklearn.base" in sys.modules:
            made = vars(_requester(owner)).get(self._name)
        if made is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return made.__get__(instance, owner)


class Estimator:
    """Parameters are the arguments of the constructor; a fitted estimator has a ``_model``."""

    set_fit_request = Request()
    set_partial_fit_request = Request()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Those of search, votes and the machine count from the next call on. Parameters that a
        ranker was trained with need a new `fit`: until then, its queries raise.
        """
        self.check_known_params(params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn which arguments of `fit` and others it may pass on, and on request."""
        return self._get_metadata_request()

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    @classmethod
    def check_known_params(cls, params: Iterable[str]) -> None:
        """Raise ValueError if there is no parameter of one of the names."""
        known = cls._parameter_names()
        for name in params:
            if name not in known:
                raise ValueError(f"no parameter {name!r}; there are {', '.join(known)}")

    def _get_metadata_request(self) -> Any:
        from sklearn.utils.metadata_routing import get_routing_for_object

        if "_metadata_request" in vars(self):
            return get_routing_for_object(vars(self)["_metadata_request"])
        kind: Any = type(self)
        return _requester(kind)()._get_metadata_request()

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn (only called by scikit-learn itself)."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=True),
            classifier_tags=ClassifierTags(multi_class=True, multi_label=True),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({params})"


@functools.cache
def _error_class(with_sklearn: bool) -> type[NotFittedError]:
    if not with_sklearn:
        return NotFittedError
    from sklearn.exceptions import NotFittedError as Theirs

    return type("NotFittedError", (NotFittedError, Theirs), {"__module__": __name__})


@functools.cache
def _requester(estimator: Any) -> Any:
    """A class with the estimator's methods that scikit-learn has given its ``set_..._request``."""
    from sklearn.utils.metadata_routing import _MetadataRequester

    methods = dict(inspect.getmembers_static(estimator, inspect.isfunction))
    wanted = {name: made for name, made in methods.items() if not name.startswith("_")}
    wanted.pop("get_metadata_routing")
    return type(estimator.__name__, (_MetadataRequester,), wanted)
