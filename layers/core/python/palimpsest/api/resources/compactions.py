"""The operations on a session's compactions, and the operation that makes room in the window."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import Window, window
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Closed, MaxTokens, Moment, SessionId, WaitSeconds
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    NextCursor,
    Order,
    after_number,
    paged,
)
from palimpsest.api.resources.chat import Given
from palimpsest.api.resources.context.answer import answered_with_context
from palimpsest.api.resources.context.shapes import Context, ContextOptions, WhyNoRoom
from palimpsest.api.resources.jobs import SequenceRange, accepted
from palimpsest.api.resources.messages.shown import ShowMessages
from palimpsest.conversations.message import text_of
from palimpsest.conversations.session import Compaction
from palimpsest.jobs.job import Job

operation = operations_on("context", function="sessions")

ShownCompaction = TypedDict(
    "ShownCompaction",
    {
        "n": int,
        "from": int,
        "to": int,
        "summary": Annotated[
            str | None,
            Field(
                description="null if the strategy drops messages without a summary, or if all of "
                "them are off the record"
            ),
        ],
        "method": Annotated[
            str, Field(description="model, extractive, trim, delete, fifo or empty")
        ],
        "model": str | None,
        "prompt_hash": str | None,
        "tokens_before": int,
        "tokens_after": int,
        "created_at": Moment,
    },
)


class PruneRequest(Closed):
    strategy: Annotated[
        Literal["fifo", "summarize", "semantic"],
        Field(
            description="fifo drops the oldest turns; summarize replaces them by a summary; "
            "semantic keeps the turns that are most similar to `message`, or else to the user's "
            "newest message"
        ),
    ]
    max_tokens: MaxTokens | None = None
    message: Given | None = None
    wait: WaitSeconds = 0


class CompactionPage(TypedDict):
    compactions: list[ShownCompaction]
    next_cursor: NextCursor


class KeptTurns(SequenceRange):
    """Messages that a semantic prune kept, and the reason. `score` is from 0 to 1, and null for
    recent turns.
    """

    why: Literal["recent", "relevant", "important"]
    score: float | None


class Pruned(TypedDict):
    session_id: str
    job_id: str | None
    state: Literal["done", "failed"]
    why_not: WhyNoRoom
    kept: Annotated[
        list[KeptTurns], Field(description="With `semantic`: the messages that stay, in order")
    ]
    window: Window
    context: Context | None
    degraded: list[str]


@operation(
    "POST /v1/sessions/{session_id}/prune",
    scopes=("read", "write"),
    answers={200: "Pruned", 202: "JobPending"},
)
def prune_window(
    service: Service, call: Call, *, session_id: SessionId, body: PruneRequest
) -> Response[str]:
    """Make room in the window.

    `fifo` drops the oldest turns at once. `summarize` replaces all but the recent turns by a
    summary. The answer is 200 if the summary is done within `wait` seconds, else 202 with a job.
    `semantic` works at once. It keeps the recent turns, and within the budget the older turns that
    matter most to the topic, as whole turns of at most 20 messages together. `kept` lists them with
    reasons. It waits up to 3 s for the vectors of messages that were just stored. If a vector is
    still missing, words and importance decide, and `degraded` contains `vector`. Messages that
    leave the window stay in the history.
    """
    scope = call.session(session_id)

    def prune(_: str | None) -> list[Any]:
        topic = None if body.message is None else text_of(body.message)
        requested = service.prune(
            scope, strategy=body.strategy, max_tokens=body.max_tokens, topic=topic
        )
        kept = [
            {"from": part.first, "to": part.last, "why": part.why, "score": part.score}
            for part in requested.kept
        ]
        return [requested.job, requested.why_not, kept, [] if requested.has_vectors else ["vector"]]

    job_id, why_not, kept, degraded = call.made(prune)
    job = (
        None
        if job_id is None
        else service.read_job(scope.owner, job_id, wait=call.patience(body.wait))
    )
    if job is not None and not job.has_ended:
        return accepted(call, job.id, job.state)
    answer = {
        "session_id": session_id,
        **({"job_id": None, "state": "done"} if job is None else _state_of(job)),
        "why_not": why_not,
        "kept": kept,
        "degraded": degraded,
        "window": window(service.manage.read(scope).head),
    }
    return answered_with_context(
        service, call, answer, scope, ContextOptions(max_tokens=body.max_tokens), given=body.message
    )


@operation(
    "GET /v1/sessions/{session_id}/compactions", answers={200: "CompactionPage"}, refuses=(413,)
)
def list_compactions(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "asc",
) -> Response[str]:
    """List compactions.

    Each compaction is a range of messages that has left the window, with its summary.
    """
    scope = call.session(session_id)
    listed = (scope.partition, "compactions", order)
    page, after = service.history.compactions(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    rows = ((_shown(compaction), compaction.last) for compaction in page)
    return paged("compactions", rows, listed=listed, after=after)


@operation(
    "GET /v1/sessions/{session_id}/compactions/{n}/messages",
    answers={200: "MessagePage"},
    refuses=(413,),
)
def unfold_compaction(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    n: Annotated[int, Path(ge=1, description="`n` of the compaction")],
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Response[str]:
    """Unfold a compaction.

    Return the messages that a compaction removed from the window, word for word.
    """
    scope = call.session(session_id)
    listed = (scope.partition, "unfolded", n)
    page, after = service.history.unfold(scope, n, limit=limit, after=after_number(cursor, *listed))
    shown = ShowMessages(service, scope)
    rows = ((shown(message), message.seq) for message in page)
    return paged("messages", rows, listed=listed, after=after)


def _state_of(job: Job) -> dict[str, Any]:
    return {"job_id": job.id, "state": job.state}


def _shown(stored: Compaction) -> ShownCompaction:
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
