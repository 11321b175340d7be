"""The operations that take feedback on recalls, and list and close reviews."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from palimpsest.api.answers import Deleted
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import (
    LIKE_AN_ID,
    NOT_BLANK,
    Closed,
    Json,
    Moment,
    UserId,
    not_blank,
    rfc3339,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, listing
from palimpsest.api.resources.chat import Id
from palimpsest.feedback.feedback import Feedback
from palimpsest.feedback.reviews import OpenReview, ReviewKind
from palimpsest.memory.filters import MemoryType
from palimpsest.scope import checked_id

operation = operations_on("recall", function="memories")

MOST_RATED = 50
MAX_MISSING = 2_000  # characters

RecallId = Annotated[
    str, Path(description="`recall_id` of a recall's answer", json_schema_extra=LIKE_AN_ID)
]
ReviewId = Annotated[str, Path(description="Id of the review", json_schema_extra=LIKE_AN_ID)]
Rated = Annotated[list[Id], Field(max_length=MOST_RATED, default_factory=list)]


class FeedbackBody(Closed):
    useful: Annotated[Rated, Field(description="Ids of memories that helped")]
    wrong: Annotated[
        Rated,
        Field(
            description="Ids of memories that are not true, even if they are also useful; each "
            "opens a review"
        ),
    ]
    missing: Annotated[
        Annotated[
            str,
            Field(max_length=MAX_MISSING, json_schema_extra=NOT_BLANK),
            AfterValidator(not_blank),
        ]
        | None,
        Field(description="A fact that the recall should have found; opens a review"),
    ] = None


class FeedbackTaken(TypedDict):
    recall_id: str
    counted: Annotated[Sequence[str], Field(description="The memories that were rated")]
    ignored: Annotated[
        Sequence[str], Field(description="Ids of messages, and ids that are unknown here")
    ]
    reviews: Annotated[Sequence[str], Field(description="The reviews that are open because of it")]


class ReviewedMemory(TypedDict):
    id: str
    type: MemoryType
    content: str
    topic_key: str | None
    valid_from: Moment


class ShownReview(TypedDict):
    id: str
    user_id: str
    kind: ReviewKind
    recall_id: str
    created_at: Moment
    memory: Annotated[
        ReviewedMemory | None, Field(description="The memory, as it is now; null for `missing`")
    ]
    missing: Annotated[str | None, Field(description="A fact that the recall should have found")]


class ReviewPage(TypedDict):
    reviews: list[ShownReview]
    next_cursor: NextCursor


@operation("POST /v1/users/{user_id}/recalls/{recall_id}/feedback", answers={200: "FeedbackTaken"})
def give_feedback(
    service: Service, call: Call, *, user_id: UserId, recall_id: RecallId, body: FeedbackBody
) -> FeedbackTaken:
    """Give feedback.

    Say which memories of a recall were useful or wrong, and what was missing. Useful memories then
    rank a little higher in this user's recalls, and wrong ones a little lower. This influence is
    limited, and it hides no memory. A later opinion on the same recall replaces an earlier one.
    `wrong` and `missing` open reviews. `GET /v1/usage` counts the opinions.
    """
    give = partial(
        service.feedback,
        call.user(user_id),
        checked_id(recall_id, field="recall_id"),
        useful=body.useful,
        wrong=body.wrong,
        missing=body.missing,
    )
    return call.made(lambda _: taken(recall_id, give()))


def taken(recall_id: str, counted: Feedback) -> FeedbackTaken:
    """Return the answer to feedback."""
    return {
        "recall_id": recall_id,
        "counted": list(counted.counted),
        "ignored": list(counted.ignored),
        "reviews": list(counted.reviews),
    }


@operation("GET /v1/reviews", answers={200: "ReviewPage"})
def list_reviews(
    service: Service, call: Call, *, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Json:
    """List reviews.

    List the open reviews of all users, ordered by user. A page may be short or empty although there
    are more, because reviews of memories that are gone are left out.
    """
    return _listed(service, call, None, limit=limit, cursor=cursor)


@operation("GET /v1/users/{user_id}/reviews", answers={200: "ReviewPage"})
def list_user_reviews(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List a user's reviews.

    List the open reviews of one user. A page may be short or empty although there are more, because
    reviews of memories that are gone are left out.
    """
    return _listed(service, call, call.user(user_id).user, limit=limit, cursor=cursor)


@operation("DELETE /v1/users/{user_id}/reviews/{review_id}", answers={200: "Deleted"})
def close_review(service: Service, call: Call, *, user_id: UserId, review_id: ReviewId) -> Deleted:
    """Close a review.

    Remove a review from the list of open ones. The memory does not change: edit or delete it by its
    own operations.
    """
    service.reviews.close(call.user(user_id), checked_id(review_id, field="review_id"))
    return {"id": review_id, "deleted": True}


def _listed(
    service: Service, call: Call, user: str | None, *, limit: int, cursor: str | None
) -> Json:
    scope = call.caller.tenant
    find = partial(service.reviews.listed, scope, user=user)
    identity = (scope.tenant, "reviews", user or "")
    return listing("reviews", find, _shown, listed=identity, limit=limit, cursor=cursor)


def _shown(open_review: OpenReview) -> ShownReview:
    review, record = open_review.review, open_review.record
    memory: ReviewedMemory | None = None
    if record is not None:
        memory = {
            "id": record.id,
            "type": record.type,
            "content": record.content,
            "topic_key": record.topic_key,
            "valid_from": rfc3339(record.valid_from),
        }
    return {
        "id": review.id,
        "user_id": review.user,
        "kind": review.kind,
        "recall_id": review.recall,
        "created_at": rfc3339(review.said_at),
        "memory": memory,
        "missing": review.missing,
    }
