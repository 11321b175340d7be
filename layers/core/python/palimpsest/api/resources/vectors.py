"""The operations on a user's vectors. Vectors are stored in namespaces under ids of the caller's
own, and searched by nearness and metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AfterValidator, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, NOT_BLANK, Closed, UserId, Values, not_blank
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.filters import Conditions, Metadata
from palimpsest.vectors.manage import DEFAULT_NAMESPACE, MOST_VECTORS, NewVector
from palimpsest.vectors.ports import Namespace

operation = operations_on("vectors", function="memories")

AT_ONCE = 100
MAX_TEXT = 8_000  # characters; models cut longer texts

Text = Annotated[
    str,
    Field(
        max_length=MAX_TEXT,
        json_schema_extra=NOT_BLANK,
        description="The text from which the embedding model makes it",
    ),
    AfterValidator(not_blank),
]
InNamespace = Annotated[Id, Field(description="Vectors are compared within a namespace")]
NamedInQuery = Annotated[str, Query(description="The namespace", json_schema_extra=LIKE_AN_ID)]


class _Placed(Closed):
    values: Values | None = None
    text: Text | None = None

    @model_validator(mode="after")
    def _has_one(self) -> _Placed:
        if (self.values is None) == (self.text is None):
            raise ValueError("needs either values or text")
        return self


class VectorToStore(_Placed):
    """A vector to store. It has either `values` or `text`."""

    id: Id
    metadata: Annotated[Metadata, Field(default_factory=dict)]


class VectorsToStore(Closed):
    namespace: InNamespace = DEFAULT_NAMESPACE
    vectors: Annotated[list[VectorToStore], Field(min_length=1, max_length=AT_ONCE)]

    def read(self) -> list[NewVector]:
        return [
            NewVector(vector.id, vector.values, vector.text, vector.metadata)
            for vector in self.vectors
        ]


class ManyVectors(VectorsToStore):
    """A body with as many vectors as a namespace can hold. It is for callers within the process,
    who send no request.
    """

    vectors: Annotated[list[VectorToStore], Field(min_length=1, max_length=MOST_VECTORS)]


class VectorSearch(_Placed):
    """A search for vectors near a vector, which is given as either `values` or `text`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    namespace: InNamespace = DEFAULT_NAMESPACE
    top_k: Annotated[int, Field(ge=1, le=100, description="The most results")] = 10
    min_score: Annotated[
        float, Field(ge=-1, le=1, description="The lowest cosine of a result")
    ] = -1.0
    filter: Annotated[Conditions, Field(default_factory=dict)]


class VectorNamespace(TypedDict):
    namespace: str
    dimension: int
    model: Annotated[
        str | None, Field(description="The embedding model; null: the vectors are the caller's own")
    ]
    count: Annotated[int, Field(description="How many vectors it holds")]


class VectorStats(TypedDict):
    namespaces: list[VectorNamespace]
    count: int


class VectorMatch(TypedDict):
    id: str
    score: Annotated[float, Field(description="Cosine, -1 to 1")]
    metadata: Mapping[str, Any]
    text: str | None


class VectorMatches(TypedDict):
    matches: list[VectorMatch]


class VectorsDeleted(TypedDict):
    count: Annotated[int, Field(description="How many vectors were deleted")]


@operation("POST /v1/users/{user_id}/vectors", answers={200: "VectorNamespace"}, refuses=(409,))
def put_vectors(
    service: Service, call: Call, *, user_id: UserId, body: VectorsToStore
) -> VectorNamespace:
    """Store vectors.

    Store 1 to 100 vectors under ids of your own. Each has `values`, or a `text` from which the
    embedding model makes the vector. A vector with the same id is replaced. The first vector fixes
    the dimension and the model of its namespace. A vector that differs from them is answered 422
    `other_dimension` or `other_model`. A namespace has at most 5,000 vectors.
    """
    scope = call.user(user_id)
    return call.made(lambda _: _shown(service.vectors.upsert(scope, body.namespace, body.read())))


@operation(
    "POST /v1/users/{user_id}/vectors/search", scopes=("read",), answers={200: "VectorMatches"}
)
def search_vectors(
    service: Service, call: Call, *, user_id: UserId, body: VectorSearch
) -> VectorMatches:
    """Search vectors.

    Return the vectors of a namespace that are nearest by cosine and whose metadata meet the
    `filter`. All vectors are compared, even vectors that were stored just now.
    """
    hits = service.vectors.search(
        call.user(user_id),
        body.namespace,
        values=body.values,
        text=body.text,
        metadata=body.filter,
        k=body.top_k,
        min_score=body.min_score,
    )
    matches: list[VectorMatch] = [
        {
            "id": hit.vector.id,
            "score": hit.score,
            "metadata": hit.vector.metadata,
            "text": hit.vector.text,
        }
        for hit in hits
    ]
    return {"matches": matches}


@operation("DELETE /v1/users/{user_id}/vectors", answers={200: "VectorsDeleted"})
def delete_vectors(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    namespace: NamedInQuery = DEFAULT_NAMESPACE,
    ids: Annotated[
        list[Annotated[str, Field(json_schema_extra=LIKE_AN_ID)]] | None,
        Query(
            max_length=AT_ONCE,
            description="Delete only these vectors; by default all of the namespace",
        ),
    ] = None,
) -> VectorsDeleted:
    """Delete vectors.

    Delete vectors by id, or all vectors of a namespace. An empty namespace accepts a new dimension.
    """
    return {"count": service.vectors.delete(call.user(user_id), namespace, ids)}


@operation("GET /v1/users/{user_id}/vectors/stats", answers={200: "VectorStats"})
def count_vectors(service: Service, call: Call, *, user_id: UserId) -> VectorStats:
    """Count vectors.

    Return the namespaces of the user that have vectors, by name.
    """
    namespaces = [_shown(stat) for stat in service.vectors.stats(call.user(user_id))]
    return {"namespaces": namespaces, "count": sum(namespace["count"] for namespace in namespaces)}


def _shown(namespace: Namespace) -> VectorNamespace:
    return {
        "namespace": namespace.name,
        "dimension": namespace.dimension,
        "model": namespace.model,
        "count": namespace.count,
    }
