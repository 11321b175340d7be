"""The operations that return the context of a session, which is what the model will see next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, get_args

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import (
    HasEnded,
    Provenance,
    RestsOnChanged,
    Speaker,
    answered,
    provenance,
)
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import (
    LONGEST_WAIT,
    Closed,
    Json,
    MaxTokens,
    Moment,
    SessionId,
    moment_or_null,
    rfc3339,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import Given
from palimpsest.api.resources.jobs import SequenceRange
from palimpsest.context.ahead import ReadAhead
from palimpsest.context.blocks.ports import Item
from palimpsest.context.cache import (
    LONGEST_MARK,
    CacheUse,
    cache_key,
    mark_of,
    use_of,
    written_with_points,
)
from palimpsest.context.cache import Part as CachePart
from palimpsest.context.explain import cache_trace, trace
from palimpsest.context.formats import ContextFormat, FormattedMessages, written
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.message import Chat
from palimpsest.conversations.overflow.arm import WhyNot
from palimpsest.conversations.session import CompactionState, Head
from palimpsest.conversations.weight import REPLY_PRIMING, weigh
from palimpsest.memory.filters import MemoryType
from palimpsest.models.catalogue import takes_cache_points
from palimpsest.observability import logger
from palimpsest.scope import SessionScope

operation = operations_on("context", function="sessions")

Model = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        description="The model that will read it: its window is the budget",
    ),
]
WHOSE = (
    "The API that `messages` and `tools` are written for: OpenAI's chat (openai) or Responses "
    "(responses), Anthropic's"
    " Messages (anthropic), Amazon Bedrock's Converse (converse; bytes are base64)"
)


AFTER = "The `cache.mark` of an earlier context: say what this one has in common with it"
POINTS = (
    "Whether Anthropic's and Converse's messages have cache points. With Converse there are none "
    "for a `model` that is known to refuse them"
)
After = Annotated[str, Field(max_length=LONGEST_MARK)]


class ContextOptions(Closed):
    max_tokens: MaxTokens | None = None
    model: Model | None = None
    compact: Annotated[
        Literal["sync"] | None,
        Field(description="sync: compact what overflows first, waiting up to 20 s for it"),
    ] = None
    explain: Annotated[
        bool, Field(description="Add why each part is there, and what was left out")
    ] = False
    at: Annotated[
        int | None, Field(ge=1, description="The window as it stood after this message, alone")
    ] = None
    format: Annotated[ContextFormat, Field(description=WHOSE)] = "openai"
    after: Annotated[After | None, Field(description=AFTER)] = None
    cache_points: Annotated[bool, Field(description=POINTS)] = True


class ContextRequest(ContextOptions):
    message: Annotated[
        Given | None,
        Field(
            description="The user's message about to be sent, as text or message: weighed, not "
            "stored"
        ),
    ] = None


WhyNoRoom = Annotated[
    WhyNot | None, Field(description="Why no room was made; null if it was, or is being made")
]


class ContextTokens(TypedDict):
    """Numbers of tokens. `context` counts the messages of this answer. `window` counts all messages
    of the window, and `summary` the summary before them.

    `memory` counts the memory prompt. It is a part of `context`, except if `memory_as` is `none`;
    the memory prompt is then sent in addition to the messages. `tools` counts the definitions of
    tools. `total` is the sum of everything, and at most the budget.
    """

    context: int
    budget: int
    window: int
    summary: int
    memory: int
    tools: int
    total: int
    parts: TokenParts


class TokenParts(TypedDict):
    """The tokens of each part. Their sum is `total`. `framing` counts the tokens that open the
    model's reply.
    """

    system: int
    memory: int
    summary: int
    messages: int
    framing: int
    tools: int


class CacheInfo(TypedDict):
    """How much of this context a prompt cache can serve. `mark` identifies this context; send it as
    `after` with the next call. The other fields compare this context with the context whose mark
    was sent as `after`. They are null without `after`.

    `common_tokens` counts the messages with which both contexts begin. `broke_at` is the index of
    the first message that differs, in the form of OpenAI's chat (null: none differs). `why` names
    the part of the context that this message belongs to.
    """

    mark: str
    common_tokens: int | None
    broke_at: int | None
    why: CachePart | None


class MessageRef(TypedDict):
    """The stored message that a message of a context shows."""

    seq: int
    id: str


class ShownFact(TypedDict):
    id: str
    content: str
    agent_id: str | None


class ShownMemory(TypedDict):
    id: str
    type: Annotated[str, Field(json_schema_extra={"enum": [*get_args(MemoryType)]})]
    content: str
    speaker: Speaker
    score: float | None
    valid_from: Moment | None
    valid_to: Annotated[Moment | None, Field(description="When it ended")]
    ended: HasEnded
    when: Annotated[
        str | None, Field(description="Its time as lines show it, such as `planned for 2026-10-01`")
    ]
    rests_on_changed: RestsOnChanged
    source: Provenance
    agent_id: str | None


class ShownMessage(ShownMemory):
    role: str | None


class Context(TypedDict):
    messages: Annotated[
        Sequence[Mapping[str, Any]], Field(description="Ready to send, as `format` has them")
    ]
    system: NotRequired[
        Annotated[
            str | Sequence[Json],
            Field(description="What Anthropic and Converse take beside the messages"),
        ]
    ]
    refs: Annotated[
        Sequence[MessageRef | None],
        Field(
            description="For each of `messages` the stored message that it shows (the first of "
            "those that it joins);"
            " null for what was made for this context"
        ),
    ]
    tokens: ContextTokens
    omitted: Annotated[
        SequenceRange | None,
        Field(description="Stored messages that are not here and that no summary here stands for"),
    ]
    compaction: CompactionState
    why_not: NotRequired[
        Annotated[WhyNoRoom, Field(description="With `compact`: why nothing was compacted")]
    ]
    degraded: Annotated[
        Sequence[str], Field(description="Blocks that could not be read and are missing here")
    ]
    static_facts: Annotated[list[ShownFact], Field(description="What the tenant states")]
    extracted_facts: Annotated[
        list[ShownMemory], Field(description="What was extracted from the user's conversations")
    ]
    vector_matches: Annotated[
        list[ShownMessage], Field(description="Past messages that are similar to the given one")
    ]
    memory_prompt: Annotated[
        str, Field(description="All three as the model gets them, escaped; empty if there are none")
    ]
    tools: NotRequired[
        Annotated[
            Sequence[Mapping[str, Any]],
            Field(description="With `auto_recall`: what the model may be given"),
        ]
    ]
    cache: Annotated[CacheInfo, Field(description="What a prompt cache can serve of it")]
    prompt_cache_key: NotRequired[
        Annotated[str, Field(description="With openai and responses: the parameter of this name")]
    ]
    trace: NotRequired[Annotated[Json, Field(description="With `explain`: why each part is there")]]


@operation("GET /v1/sessions/{session_id}/context", answers={200: "Context"}, refuses=(413,))
def get_context(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    max_tokens: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="Budget of the context, in tokens")
    ] = None,
    model: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=128,
            description="The model that will read it: its window is the budget",
        ),
    ] = None,
    compact: Annotated[
        Literal["sync"] | None, Query(description="sync: fold what overflows first, up to 20 s")
    ] = None,
    explain: Annotated[
        bool, Query(description="Say why each part is there, and what was left out")
    ] = False,
    at: Annotated[
        int | None, Query(ge=1, description="The window as it stood after this message")
    ] = None,
    form: Annotated[ContextFormat, Query(alias="format", description=WHOSE)] = "openai",
    after: Annotated[str | None, Query(max_length=LONGEST_MARK, description=AFTER)] = None,
    cache_points: Annotated[bool, Query(description=POINTS)] = True,
) -> Context:
    """Get the context.

    The chat messages to send next, always within the budget, with the memories of the session's
    blocks. Only `compact=sync` waits for a model.
    """
    options = ContextOptions(
        max_tokens=max_tokens,
        model=model,
        compact=compact,
        explain=explain,
        at=at,
        format=form,
        after=after,
        cache_points=cache_points,
    )
    return context_of(service, call, call.session(session_id), options)


@operation(
    "POST /v1/sessions/{session_id}/context",
    function="memories",
    scopes=("read",),
    answers={200: "Context"},
)
def get_context_for(
    service: Service, call: Call, *, session_id: SessionId, body: ContextRequest
) -> Context:
    """Get the context for a message.

    Return the context like GET, for a message that is about to be sent. The tokens of the message
    are counted, it is not stored, and a vector block adds similar past messages. `degraded` names
    the parts that could not be read in time.
    """
    return context_of(service, call, call.session(session_id), body, given=body.message)


def answered_with_context(
    service: Service,
    call: Call,
    done: Mapping[str, Any],
    scope: SessionScope,
    options: ContextOptions,
    *,
    given: Chat | None = None,
    newest: Chat | None = None,
    ahead: ReadAhead | None = None,
    head: Head | None = None,
    status: int = 200,
) -> Response[str]:
    """Return the answer to a call that has already changed something, with the context added. The
    context is null if it can't be read. `ahead` and `head` are those of an append, as `ReadContext`
    takes them.
    """
    asked: dict[str, Any] = {"given": given, "newest": newest, "ahead": ahead, "head": head}
    try:
        context = context_of(service, call, scope, options, **asked)
        degraded = dict.fromkeys((*done.get("degraded", ()), *context["degraded"]))
        return answered(
            {**done, "context": context, "degraded": list(degraded)},
            status=status,
            shows=call.shows,
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, what was committed stands
        logger.warning("no context beside the answer", extra={"error": type(error).__name__})
        return answered(
            {**done, "context": None, "degraded": ["context"]}, status=status, shows=call.shows
        )


def context_of(
    service: Service,
    call: Call,
    scope: SessionScope,
    options: ContextOptions,
    *,
    given: Chat | None = None,
    newest: Chat | None = None,
    ahead: ReadAhead | None = None,
    head: Head | None = None,
) -> Context:
    is_asked = options.compact is not None
    why_not = service.prune.compact(scope, wait=call.patience(LONGEST_WAIT)) if is_asked else None
    read = service.context
    asked: dict[str, Any] = {
        "max_tokens": options.max_tokens,
        "model": options.model,
        "at": options.at,
    }
    begun: dict[str, Any] = {} if is_asked else {"ahead": ahead, "head": head}
    found = read(scope, given=given, newest=newest, **begun, **asked)
    if is_asked and options.at is None and found.loses_turns:
        why_not = service.prune.fold(scope, budget=found.budget, wait=call.patience(LONGEST_WAIT))
        found = read(scope, given=given, newest=newest, **asked)
    shown = _shown(found, _written(found, options), form=options.format)
    use = _use(found, options.after, count=service.tokens.count)
    shown["cache"] = _cached(found, use)
    if options.explain:
        shown["trace"] = {**trace(found), "cache": cache_trace(found, use)}
    if options.format in ("openai", "responses"):
        shown["prompt_cache_key"] = cache_key(scope)
    return {**shown, "why_not": why_not} if is_asked else shown


def _written(read: SessionContext, options: ContextOptions) -> FormattedMessages:
    if _takes_points(options, read.config.model):
        return written_with_points(read, options.format)
    return written(read.messages, options.format)


def _takes_points(options: ContextOptions, model: str | None) -> bool:
    """Return whether the caller wants cache points, and the model that will read the context
    accepts them.
    """
    takes = options.format != "converse" or takes_cache_points(options.model or model)
    return options.cache_points and takes


def _ref(place: tuple[int, str] | None) -> MessageRef | None:
    return None if place is None else {"seq": place[0], "id": place[1]}


def _range(omitted: tuple[int, int] | None) -> SequenceRange | None:
    return None if omitted is None else {"from": omitted[0], "to": omitted[1]}


def _use(read: SessionContext, after: str | None, *, count: Callable[..., int]) -> CacheUse | None:
    """Return how much the context shares with the context of the mark; None without a mark."""
    if after is None:
        return None
    counted = partial(count, encoding=read.head.encoding)
    return use_of(read, [weigh(chat, counted) for chat in read.messages], after=after)


def _cached(read: SessionContext, use: CacheUse | None) -> CacheInfo:
    mark = mark_of(read)
    if use is None:
        return {"mark": mark, "common_tokens": None, "broke_at": None, "why": None}
    return {
        "mark": mark,
        "common_tokens": use.common_tokens,
        "broke_at": use.broke_at,
        "why": use.why,
    }


def _parts(read: SessionContext) -> TokenParts:
    """Return the tokens of each part of the context. Each token belongs to exactly one part."""
    memory, system = read.memory.tokens, read.fitted.system_tokens
    return {
        "system": system - memory if read.config.memory_as == "system" else system,
        "memory": memory,
        "summary": read.fitted.summary_tokens,
        "messages": read.fitted.window_tokens,
        "framing": REPLY_PRIMING,
        "tools": read.tools_tokens,
    }


def _shown(read: SessionContext, written: FormattedMessages, *, form: ContextFormat) -> Context:
    parts = _parts(read)
    answer: Context = {
        "messages": written.messages,
        "refs": [_ref(ref) for ref in read.refs(written)],
        "tokens": {
            "context": read.fitted.tokens,
            "budget": read.budget,
            "window": read.head.tokens,
            "summary": read.fitted.summary_tokens,
            "memory": read.memory.tokens,
            "tools": read.tools_tokens,
            "total": read.total_tokens,
            "parts": parts,
        },
        "cache": {"mark": "", "common_tokens": None, "broke_at": None, "why": None},
        "omitted": _range(read.omitted),
        "compaction": read.compaction,
        "degraded": read.degraded,
        "static_facts": [
            {"id": item.id, "content": item.text, "agent_id": item.agent}
            for item in read.memory.of("static")
        ],
        "extracted_facts": [_remembered(item) for item in read.memory.of("extractive")],
        "vector_matches": [
            {**_remembered(item), "role": item.speaker} for item in read.memory.of("vector")
        ],
        "memory_prompt": read.memory.text,
    }
    if written.system is not None:
        answer["system"] = written.system
    if read.tools:
        answer["tools"] = read.tools_for(form)
    return answer


def _remembered(item: Item) -> ShownMemory:
    return {
        "id": item.id,
        "type": item.kind,
        "content": item.text,
        "speaker": item.said_by,
        "score": item.score,
        "valid_from": None if item.said_at is None else rfc3339(item.said_at),
        "valid_to": moment_or_null(item.ended_at),
        "ended": item.ended_at is not None,
        "when": item.when,
        "rests_on_changed": item.rests_on_changed,
        "source": provenance(item.source),
        "agent_id": item.agent,
    }
