"""Training a ranker, and training it again: all of it, or the labels whose rows have changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from swnn_xp._neighbour_estimator import SWAPPING, NeighbourEstimator
from swnn_xp.checks import plain
from swnn_xp.learn.compression import train_part
from swnn_xp.learn.neighbours import by_id
from swnn_xp.learn.records import Staleness, staleness, trained_now
from swnn_xp.learn.relearn import relearn_labels
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.train import Machine, prepare
from swnn_xp.model.changes import compact
from swnn_xp.model.model import Model, label_id
from swnn_xp.progress import StageProgress
from swnn_xp.rows.canonical import exact_values
from swnn_xp.rows.records import LabelRows, ValueRows


class RelearningEstimator(NeighbourEstimator):
    """What `SWNNRanker` does with rows that come and go after training."""

    feature_weights: bool
    keep: float

    def relearn(self, labels: Iterable[int | str] | Literal["all"] | None = None) -> Self:
        """Train labels again on the rows of the moment.

        Rows that `partial_fit` adds vote at once, but label models know nothing of them until they
        are trained again. Each label gets the model that training everything on the rows of the
        moment would give it, to the last bit, if feature weights, vote score and the rule of C
        stayed as they are; these, and probabilities, do stay. The time that takes grows with the
        rows that changed and with the rows that have one of the labels as a candidate.

        Label models learn from all rows. A model of which a part of the rows was kept (``keep``)
        no longer has the others, so it can't learn again: fit it on all rows instead.

        Parameters
        ----------
        labels : ids or names of labels, "all" or None
            None: the labels whose rows have changed; see `staleness_`. "all": train everything,
            feature weights and probabilities too; the answers are then those of `fit` on the rows
            that are left, to the last bit, and rows keep their ids.

        Returns
        -------
        self

        Examples
        --------
        >>> from swnn_xp import SWNNRanker
        >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5, [[1, 0], [0, 1]] * 10
        >>> clf = SWNNRanker(n_neighbors=3).fit(X, y).partial_fit([[1, 1, 1]] * 2, [[0, 0, 1]] * 2)
        >>> clf.relearn().staleness_.labels.tolist()
        []
        """
        model = self._current_model()
        if self.keep < 1:
            raise ValueError(
                f"label models learn from all rows, but the ranker kept a part (keep={self.keep:g})"
                " and the others are gone: call fit with all rows"
            )
        if isinstance(labels, str):
            if labels != "all":
                raise ValueError(f"labels must be 'all', None or a list of labels, got {labels!r}")
            self._replace_model(model, self._refitted(model), "relearn")
            return self
        wanted = np.zeros(model.labels.n_labels, bool)
        wanted[_staleness(model).labels if labels is None else _ids(model, labels)] = True
        if wanted.any():
            with StageProgress() as progress:
                trained = relearn_labels(model, wanted, self._training_settings(), progress.show)
            self._replace_model(model, trained, "relearn")
        return self

    @property
    def staleness_(self) -> Staleness:
        """What has changed since labels were trained; ValueError if the model does not know."""
        return _staleness(self._fitted_model())

    def _train(
        self, rows: ValueRows, labels: LabelRows, machine: Machine, names: Mapping[str, list[str]]
    ) -> Model:
        """Train everything on rows."""
        with StageProgress() as progress:
            ready = prepare(
                rows, labels, self._training_settings(), machine, progress.show,
                weighted=self.feature_weights, names=names,
            )  # fmt: skip
            model = train_part(ready, machine, float(self.keep), progress.show)
        return self._noted(replace(model, values=exact_values(rows.values)))

    def _noted(self, model: Model, keep: float | None = None) -> Model:
        """Note the parameters and the rows of the training; ``keep`` if it is about to change.

        Where kept rows stand for others, which are not there to learn from, values go.
        """
        keep = self.keep if keep is None else keep
        params = self._learned_params() | {"keep": plain(keep)}
        learned = replace(model.learned, params=params, trained=trained_now(model))
        if learned.known is not None:
            learned = replace(learned, known=by_id(model, learned.known.neighbours))
        return replace(model, learned=learned, values=None if keep < 1 else model.values)

    def _refitted(self, model: Model) -> Model:
        """Train everything on the rows that are left; they keep their ids."""
        old = compact(model)
        machine = Machine(type(old.segments[0]), old.placement, self._options())
        new = self._train(old.value_rows(), old.checked_labels, machine, old.names)
        new = replace(
            old,
            segments=new.segments,
            feature_weights=new.feature_weights,
            learned=new.learned,
            version=model.version + 1,
            untrusted=False,
        )
        return self._noted(new)

    def _current_model(self) -> Model:
        model = super()._current_model()
        if self._differing(model) is None:
            return model
        with SWAPPING:  # `compress` may be about to change both
            model = self._model
            name = self._differing(model)
        if name is None:
            return super()._current_model()
        raise ValueError(
            f"{name}={plain(getattr(self, name))!r}, but the ranker was trained with "
            f"{model.learned.params[name]!r}: call fit again, or set it back"
        )

    def _differing(self, model: Model) -> str | None:
        """Name of a parameter that is not what the model was trained with."""
        known = model.learned.params  # older models know fewer parameters
        own = self._learned_params().items()
        return next((name for name, value in own if value != known.get(name, value)), None)

    @abstractmethod
    def _training_settings(self) -> TrainingSettings: ...

    @abstractmethod
    def _learned_params(self) -> dict[str, Any]: ...


def _staleness(model: Model) -> Staleness:
    if (trained := model.learned.trained) is None:
        raise ValueError("the model comes from a version that kept no counts: call fit again")
    return staleness(model, trained)


def _ids(model: Model, labels: Iterable[int | str]) -> NDArray[np.int64]:
    names, n_labels = model.names.get("label_names"), model.labels.n_labels
    return np.asarray([label_id(label, names, n_labels) for label in labels], np.int64)
