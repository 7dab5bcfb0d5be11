"""A model that answers requests: opened once, never changed, dropped after its last request."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from swnn_xp.bulk.records import KnownFeatures, ParsedRow
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.loading import load
from swnn_xp.model.explain import Explanation
from swnn_xp.model.session import Session
from swnn_xp.rows.canonical import to_csr
from swnn_xp.serve.limits import Limits
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.rows import to_query
from swnn_xp.serve.suggest import suggestions
from swnn_xp.serve.wire import (
    PredictRequest,
    PredictResponse,
    RowPrediction,
    decode_request,
    encode,
)

_SHOWN_FEATURES = 10  # shared with a neighbour, or weighed by a model: the most important ones
_log = logging.getLogger("swnn_xp.serve")


class ServedModel:
    """A model with a session for each thread.

    Parameters
    ----------
    path : path of the model
    number : int
        1 for the first model of a service.
    threads : int
    limits : Limits
    params : dict
        Parameters that override the saved ones.
    """

    def __init__(
        self, path: Path, number: int, threads: int, limits: Limits, params: dict[str, Any]
    ) -> None:
        self.clf = load(path, backend="numba", **params)
        self.number = number
        self._path = path
        self._limits = limits
        self.label_names = self.clf.label_names_
        self.label_uris = self.clf.label_uris_ or self.label_names
        self.features = KnownFeatures.of(self.clf)
        self.modified = path.joinpath("manifest.json").stat().st_mtime
        # Never empty when asked: there is one for each thread, and one for the event loop. The last
        # one used comes first: its buffers may still be in the processor's caches.
        self._sessions: list[Session] = []
        for _ in range(threads + 1):
            session = self.clf.session()
            # Compiles or loads the kernel, makes buffers.
            session.topk_probabilities_one([], [], limits.k)
            self._sessions.append(session)

    def answer(self, request: PredictRequest, deadline: float) -> bytes:
        """Answer a request: the body of the response."""
        return encode(PredictResponse(self.number, self.predict(request, deadline)))

    def suggest(self, request: PredictRequest, deadline: float) -> bytes:
        """Answer a request of one row in the protocol of Annif."""
        (prediction,) = self.predict(request, deadline)
        return encode(suggestions(prediction, self.label_uris, self.label_names))

    def predict(self, request: PredictRequest, deadline: float) -> list[RowPrediction]:
        """Predict the rows of a request.

        The request is refused if a row has not been started by the deadline (`time.monotonic`).
        """
        session = self._sessions.pop()
        try:
            return [
                self._row(session, request, number, deadline) for number in range(len(request.rows))
            ]
        finally:
            self._sessions.append(session)

    def parse(self, body: bytes) -> PredictRequest:
        """Parse the body of a request, or refuse it."""
        limits = self._limits
        try:
            request = decode_request(body)
        except msgspec.ValidationError as error:
            raise HTTPRefusal(422, str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HTTPRefusal(400, f"the body is not JSON: {error}") from None
        n_rows, k = len(request.rows), request.k
        if n_rows > limits.rows:
            raise HTTPRefusal(422, f"there are {n_rows} rows, at most {limits.rows} are allowed")
        if k > limits.k:
            raise HTTPRefusal(422, f"k is {k}, at most {limits.k} is allowed")
        if request.explain and n_rows * k > limits.explained:
            what = f"{n_rows} rows with k = {k} are {n_rows * k} labels to explain"
            raise HTTPRefusal(422, f"{what}, at most {limits.explained} are allowed")
        return request

    def _row(
        self, session: Session, request: PredictRequest, number: int, deadline: float
    ) -> RowPrediction:
        if time.monotonic() > deadline:
            raise HTTPRefusal(504, "the answer takes too long")
        row = request.rows[number]
        query = to_query(row, number, self.features, self._limits.features)
        try:
            return self._predict(session, request, query)
        except ValueError as error:
            # The row is valid, so the model is not: parts of it are checked only when used.
            message = "model %d can't answer a row: %s; `swnn verify %s` names the file"
            _log.error(message, self.number, error, self._path)
            raise HTTPRefusal(500, f"row {number}: the model is damaged") from None

    def _predict(
        self, session: Session, request: PredictRequest, query: ParsedRow
    ) -> RowPrediction:
        best = session.topk_probabilities_one(query.indices, query.values, request.k)
        labels, scores, likely = (part.tolist() for part in best)
        if labels[-1] < 0:  # empty slots come last
            found = labels.index(-1)
            labels, scores, likely = labels[:found], scores[:found], likely[:found]
        prediction = RowPrediction(labels, scores, likely)
        if self.label_names is not None:
            prediction.names = [self.label_names[label] for label in prediction.labels]
        if query.unknown is not None:
            prediction.unknown = query.unknown
        if request.explain:
            prediction.explain = [self._explained(query, label) for label in prediction.labels]
        return prediction

    def _explained(self, query: ParsedRow, label: int) -> Explanation | RankedExplanation:
        shape = (1, self.clf.n_features_in_)
        x = to_csr(np.array([0, query.indices.size]), query.indices, query.values, shape)
        explanation = self.clf.explain(x, label)
        voters = tuple(
            replace(voter, features=voter.features[:_SHOWN_FEATURES])
            for voter in explanation.voters
        )
        if isinstance(explanation, RankedExplanation):
            features = explanation.features[:_SHOWN_FEATURES]
            return replace(explanation, voters=voters, features=features)
        return replace(explanation, voters=voters)
