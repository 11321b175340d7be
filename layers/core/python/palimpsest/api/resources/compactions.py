"""Compactions of a session: what left the window, each with the messages that it stands for."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import after_number, paged
from palimpsest.api.resources.fields import DEFAULT_LIMIT, Cursor, Limit, Moment, NextCursor, Order, SessionId
from palimpsest.api.resources.messages import carried
from palimpsest.conversations.session import Compaction as StoredCompaction

operation = operations_on("context", function="sessions")

Compaction = TypedDict(
    "Compaction",
    {
        "n": int,
        "from": int,
        "to": int,
        "summary": Annotated[str | None, Field(description="null where the strategy drops without a summary")],
        "method": Annotated[str, Field(description="model, extractive, trim, delete, fifo or empty")],
        "model": str | None,
        "prompt_hash": str | None,
        "tokens_before": int,
        "tokens_after": int,
        "created_at": Moment,
    },
)


class CompactionPage(TypedDict):
    compactions: list[Compaction]
    next_cursor: NextCursor


@operation("GET /v1/sessions/{session_id}/compactions", answers={200: "CompactionPage"}, refuses=(413,))
def list_compactions(
    session_id: SessionId, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, order: Order = "asc"
) -> Response[str]:
    """List compactions.

    What has left the window, each part with its summary.
    """
    scope = call().session(session_id)
    listed = (scope.partition, "compactions", order)
    page, after = call().use.history.compactions(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    rows = ((_shown(each), each.last) for each in page)
    return paged("compactions", rows, listed=listed, after=after)


@operation("GET /v1/sessions/{session_id}/compactions/{n}/messages", answers={200: "MessagePage"}, refuses=(413,))
def unfold_compaction(
    session_id: SessionId,
    n: Annotated[int, Path(ge=1, description="`n` of the compaction")],
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Response[str]:
    """Unfold a compaction.

    The messages that a compaction removed from the window, word for word.
    """
    scope = call().session(session_id)
    listed = (scope.partition, "unfolded", n)
    page, after = call().use.history.unfold(scope, n, limit=limit, after=after_number(cursor, *listed))
    rows = ((carried(each), each.seq) for each in page)
    return paged("messages", rows, listed=listed, after=after)


def _shown(stored: StoredCompaction) -> Compaction:
    return {
        "n": stored.last,
        "from": stored.first,
        "to": stored.last,
        "summary": stored.summary,
        "method": stored.method,
        "model": stored.model,
        "prompt_hash": stored.prompt_hash,
        "tokens_before": stored.tokens_before,
        "tokens_after": stored.tokens_after,
        "created_at": stored.created_at,
    }
