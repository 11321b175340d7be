"""Recall: what is remembered of a user that answers a question, and one retriever alone."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api import memory_answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered
from palimpsest.api.recall_requests import RecallBody, SearchBody
from palimpsest.api.routing import UserId, new_router

router = new_router()
TAGS = ["recall"]


@router.post(
    "/v1/users/<user_id>/recall",
    summary="Recall",
    description=(
        "The memories and messages that answer a question best, by words, topics and meaning at once, with where each "
        "comes from; none where nothing comes near it. What was corrected is never given as current. With `answer` the "
        "question is answered from them, with citations; what could not take part is named in `degraded`."
    ),
    operation_id="recall",
    tags=TAGS,
)
def recall(user_id: UserId, body: RecallBody) -> Response[str]:
    found = call().memory.recall(call().user(user_id), body.asked())
    return answered(memory_answers.recalled(found, asked=body.answer))


@router.post(
    "/v1/users/<user_id>/memories/search",
    summary="Search memories",
    description=(
        "One retriever alone, with its own score: by words or by meaning. Nothing stands in for one that fails: 503, "
        "or 422 `no_vectors` where nobody makes vectors."
    ),
    operation_id="search_memories",
    tags=TAGS,
)
def search_memories(user_id: UserId, body: SearchBody) -> Response[str]:
    found = call().memory.search(call().user(user_id), body.query, mode=body.mode, k=body.k, where=body.where())
    return answered({"memories": list(map(memory_answers.found_memory, found))})
