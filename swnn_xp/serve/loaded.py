"""A model that answers requests: opened once, never changed, dropped when the last one is done."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.model.explain import Explanation
from swnn_xp.model.session import Session
from swnn_xp.rows.canonical import to_csr
from swnn_xp.serve.limits import Limits
from swnn_xp.serve.refusal import Refusal
from swnn_xp.serve.rows import Query, to_query
from swnn_xp.serve.wire import Answer, Answers, Question, decode_question, encode

_SHOWN_FEATURES = 10  # of those that a neighbour shares with the row: the ones that count most
_log = logging.getLogger("swnn_xp.serve")


class Loaded:
    """A model with a session for each thread.

    Parameters
    ----------
    path : path of the model
    number : int
        1 for the first model of a service.
    threads : int
    limits : Limits
    params : dict
        Parameters that replace the saved ones.
    """

    def __init__(
        self, path: Path, number: int, threads: int, limits: Limits, params: dict[str, Any]
    ) -> None:
        self.clf = SWNNClassifier.load(path, backend="numba", **params)
        self.number = number
        self._path = path
        self._limits = limits
        self.label_names = self.clf.label_names_
        names = self.clf.feature_names_
        # Reversed, so that of equal names the first one counts.
        ids = range(len(names or ()) - 1, -1, -1)
        self.known = None if names is None else {names[i]: i for i in ids}
        self._sessions: SimpleQueue[Session] = SimpleQueue()
        for _ in range(threads + 1):  # the event loop answers too
            session = self.clf.session()
            session.predict_one([], [], limits.k)  # compiles or loads the kernel, makes buffers
            self._sessions.put(session)

    def answer(self, question: Question, deadline: float) -> bytes:
        """Answer a question: the response's body.

        Rows that are not begun by the deadline (of `time.monotonic`) are not worth it any more.
        """
        session = self._sessions.get()
        try:
            rows = [
                self._row(session, question, number, deadline)
                for number in range(len(question.rows))
            ]
        finally:
            self._sessions.put(session)
        return encode(Answers(self.number, rows))

    def question(self, body: bytes) -> Question:
        """Read a request's body, or refuse it."""
        limits = self._limits
        try:
            question = decode_question(body)
        except msgspec.ValidationError as error:
            raise Refusal(422, str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refusal(400, f"the body is not JSON: {error}") from None
        n_rows, k = len(question.rows), question.k
        if n_rows > limits.rows:
            raise Refusal(422, f"there are {n_rows} rows, at most {limits.rows} are allowed")
        if k > limits.k:
            raise Refusal(422, f"k is {k}, at most {limits.k} is allowed")
        if question.explain and n_rows * k > limits.explained:
            what = f"{n_rows} rows with k = {k} are {n_rows * k} labels to explain"
            raise Refusal(422, f"{what}, at most {limits.explained} are allowed")
        return question

    def _row(self, session: Session, question: Question, number: int, deadline: float) -> Answer:
        if time.monotonic() > deadline:
            raise Refusal(504, "the answer takes too long")
        row = question.rows[number]
        width = self.clf.n_features_in_
        query = to_query(row, number, width, self.known, self._limits.features)
        try:
            return self._answered(session, question, query)
        except ValueError as error:
            # The row is sound, so the model is not: some of it is checked only when it is used.
            told = "model %d can't answer a row: %s; `swnn verify %s` names the file"
            _log.error(told, self.number, error, self._path)
            raise Refusal(500, f"row {number}: the model is damaged") from None

    def _answered(self, session: Session, question: Question, query: Query) -> Answer:
        labels, scores = session.predict_one(query.indices, query.values, question.k)
        found = int(np.count_nonzero(labels >= 0))
        answer = Answer(labels[:found].tolist(), scores[:found].tolist())
        if self.label_names is not None:
            answer.names = [self.label_names[label] for label in answer.labels]
        if query.unknown is not None:
            answer.unknown = query.unknown
        if question.explain:
            answer.explain = [self._explained(query, label) for label in answer.labels]
        return answer

    def _explained(self, query: Query, label: int) -> Explanation:
        shape = (1, self.clf.n_features_in_)
        x = to_csr(np.array([0, query.indices.size]), query.indices, query.values, shape)
        explanation = self.clf.explain(x, label)
        voters = (
            replace(voter, features=voter.features[:_SHOWN_FEATURES])
            for voter in explanation.voters
        )
        return replace(explanation, voters=tuple(voters))
