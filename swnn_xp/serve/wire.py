"""The bodies of requests and responses. The OpenAPI schema is generated from them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.loading import Kind
from swnn_xp.model.explain import Explanation

REF_TEMPLATE = "#/components/schemas/{name}"
EXPLANATIONS = (Explanation, RankedExplanation)
FeatureId = Annotated[int, Meta(ge=0, le=2**31 - 2)]
# msgspec has no unions of dataclasses, so the schema of the items is put in by hand.
_Explained = Annotated[
    list[Any],
    Meta(
        description="of each label; a ranked model's has the parts of the score too",
        extra_json_schema={
            "items": {
                "anyOf": [{"$ref": REF_TEMPLATE.format(name=c.__name__)} for c in EXPLANATIONS]
            }
        },
    ),
]


class Row(msgspec.Struct, forbid_unknown_fields=True):  # type: ignore[misc, call-arg]
    """A row: ``indices`` with optional ``values``, or ``features``, or a ``text``.

    Features are names, or numbers if the model has no names: in a list each has the value 1, an
    object gives the values. Values of a repeated feature are summed. A model that was not fitted on
    texts takes the words of a text that it knows, each with the value 1.
    """

    indices: list[FeatureId] | UnsetType = UNSET
    values: list[float] | UnsetType = UNSET
    features: list[str | int] | dict[str, float] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):  # type: ignore[misc, call-arg]
    """Rows to rank labels for."""

    rows: Annotated[list[Row], Meta(min_length=1)]
    k: Annotated[int, Meta(ge=1, description="labels for each row")] = 5
    explain: Annotated[
        bool, Meta(description="add the neighbours that voted, and what a label's model added")
    ] = False


class RowPrediction(msgspec.Struct):  # type: ignore[misc]
    """The labels of a row, best first."""

    labels: list[int]
    scores: list[float]
    probabilities: Annotated[list[float], Meta(description="that each label is right")]
    names: Annotated[
        list[str] | UnsetType, Meta(description="of the labels, if the model has names")
    ] = UNSET
    unknown: Annotated[
        list[str] | UnsetType, Meta(description="features that the model does not know")
    ] = UNSET
    explain: _Explained | UnsetType = UNSET


class PredictResponse(msgspec.Struct):  # type: ignore[misc]
    """A prediction for each row, in the order of the rows."""

    model: Annotated[int, Meta(description="1 for the first model, one more after each reload")]
    rows: list[RowPrediction]


class About(msgspec.Struct):  # type: ignore[misc]
    """The model that answers, and the limits of requests."""

    model: int
    rows: int
    features: int
    labels: int
    kind: Annotated[Kind, Meta(description="the method as published, or what was learned")]
    n_neighbors: int
    alpha: float
    beta: float
    feature_names: Annotated[bool, Meta(description="whether rows may be given by names")]
    label_names: bool
    text: Annotated[bool, Meta(description="whether the model was fitted on texts")]
    limits: dict[str, float]


class Suggestion(msgspec.Struct):  # type: ignore[misc]
    """A label for a text, as Annif has it."""

    uri: str
    label: str
    score: Annotated[float, Meta(description="probability that the label is right")]


class Suggestions(msgspec.Struct):  # type: ignore[misc]
    """Labels for a text, best first."""

    results: list[Suggestion]


class Project(msgspec.Struct):  # type: ignore[misc]
    """The model in use, as Annif describes a project."""

    project_id: str
    name: str
    is_trained: bool
    modification_time: Annotated[str, Meta(description="of the model's folder, ISO 8601")]


class Health(msgspec.Struct):  # type: ignore[misc]
    """Whether the service is up."""

    status: str
    model: int


class Failure(msgspec.Struct):  # type: ignore[misc]
    """Why a request failed."""

    error: str


encode = msgspec.json.Encoder().encode
decode_request = msgspec.json.Decoder(PredictRequest).decode
