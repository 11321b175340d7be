"""The answers of operations: JSON below the size limit, with blank fields for callers that may not
read stored text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import Signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, get_args

from aws_lambda_powertools.event_handler import Response, content_types
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.encoding import dumps, size_in_answer
from palimpsest.api.fields import Json, rfc3339
from palimpsest.api.operations import Operation
from palimpsest.conversations.session import Head
from palimpsest.errors import TooLarge
from palimpsest.memory.record import ListedType, Source

if TYPE_CHECKING:
    from palimpsest.memory.removal.sources import Hidden

MAX_BYTES = 5_000_000


Speaker = Annotated[
    str, Field(description="The speaker: user, assistant, tool, or the name of somebody else")
]


Occurs = Annotated[
    str | None,
    Field(
        description="Day or time of the event or fact, in ISO 8601. For a week, month or year: its "
        "first day"
    ),
]
Due = Annotated[str | None, Field(description="Day or time by which it must be done, in ISO 8601")]


RestsOnChanged = Annotated[
    bool,
    Field(
        description="True if a memory that it rests on was superseded, has ended or was deleted "
        "since"
    ),
]

MATERIAL = (
    "True for a message that is no statement of its speaker, because most of it is a pasted, "
    "quoted or invented text"
)
IsMaterial = Annotated[bool, Field(description=MATERIAL)]


HasEnded = Annotated[
    bool,
    Field(description="True if the user said that it is no longer true; it ended at `valid_to`"),
]


class Provenance(TypedDict):
    """The source of a memory or a part of the graph: messages of a session, and the words in them
    that it rests on.
    """

    session_id: str | None
    message_ids: Sequence[str]
    seqs: Sequence[int]
    quote: str | None
    text: Annotated[
        str | None, Field(description="The source, in the words of the caller who stored it")
    ]


def provenance(source: Source) -> Provenance:
    return {
        "session_id": source.session,
        "message_ids": source.message_ids,
        "seqs": source.seqs,
        "quote": source.quote,
        "text": source.text,
    }


class HiddenSources(TypedDict):
    """The messages from whose words a deleted memory was made, and answers that repeat them. Only
    the sessions of these messages still show the words.
    """

    messages: int
    message_ids: list[str]


def hidden_sources(hidden: Hidden) -> HiddenSources:
    ids = list(hidden.message_ids)
    return {"messages": len(ids), "message_ids": ids}


class Deleted(TypedDict):
    id: str
    deleted: Literal[True]
    hidden: NotRequired[
        Annotated[
            HiddenSources,
            Field(description="For a memory: the words that were hidden in its messages"),
        ]
    ]
    redactions: NotRequired[
        Annotated[list[str], Field(description="The jobs of redacted messages, if asked for")]
    ]


class WouldForget(TypedDict):
    """The memories that a request to forget would delete now. Nothing is deleted."""

    dry_run: Literal[True]
    count: int
    ids: Sequence[str]


class Window(TypedDict):
    """The messages of the conversation that the model would see. `is_full` is true if the window
    must soon be shortened.
    """

    messages: int
    tokens: int
    max_tokens: int
    is_full: bool


def window(head: Head) -> Window:
    return {
        "messages": head.window_messages,
        "tokens": head.tokens,
        "max_tokens": head.max_tokens,
        "is_full": head.is_full,
    }


class Page(Json):
    """A page of a list. `text` is its JSON, kept because it was already made to measure the page.
    The page must not change afterwards.
    """

    text: str


class Answering:
    """Makes an operation callable by Powertools, with the parameters that a caller sends. `given`
    returns the operation's first two arguments: the service and the call.

    An object that the operation returns becomes the JSON of its usual answer. An operation that
    chooses the status, headers or format itself returns a `Response`.
    """

    def __init__(self, operation: Operation, beside: Callable[[], tuple[Service, Call]]) -> None:
        handler = self._handler = operation.handler
        self._operation, self._given = operation, beside
        update_wrapper(self, handler)
        self.__globals__ = handler.__globals__  # Powertools looks up the names in annotations there

    @property
    def __signature__(self) -> Signature:
        """The signature of the operation without the service and the call. It is computed only for
        an operation that is called.
        """
        return Signature([*self._operation.parameters.values()], return_annotation=Response[str])

    def __call__(self, **sent: Any) -> Response[str]:
        service, call = self._given()
        made = self._handler(service, call, **sent)
        if isinstance(made, Response):
            return made
        return answered(made, shows=call.shows, status=self._operation.status)


def answered(
    value: Mapping[str, Any],
    *,
    shows: bool,
    status: int = 200,
    headers: dict[str, str] | None = None,
    most: int = MAX_BYTES,
) -> Response[str]:
    """Return the value as a JSON answer. With `shows` false, stored text is blank in it. Raises
    `TooLarge` (`answer_too_large`) if the answer has more than `most` bytes.
    """
    shown = value if shows else unread(value)
    body = shown.text if isinstance(shown, Page) else dumps(shown)
    if size_in_answer(body) > most:
        raise TooLarge("The answer is too large. Ask for less.", code="answer_too_large")
    return json_answer(body, status=status, headers=headers)


WRITERS_KNOW = frozenset({
    "appended", "armed", "attempt", "compaction", "count", "created", "created_at", "deleted",
    "dry_run", "error", "expires_at", "id", "job_id", "kind", "last_extracted", "last_seq",
    "ledger", "method", "outcome", "overflow", "range", "receipt", "replayed", "result", "seq",
    "session_id", "state", "status", "tokens", "totals", "updated_at", "usage", "version",
    "window",
})  # fmt: skip
"""The fields that a caller without the scope `read` gets with their values. They hold ids and
states of things that the caller made, counts, and times of the service.
"""

TYPES = frozenset(get_args(ListedType))
"""The types of memories, which are words of the service. Other types, such as those in the graph,
are words of callers, so they are blank for callers without the scope `read`.
"""

NO_SOURCE: Provenance = {
    "session_id": None,
    "message_ids": (),
    "seqs": (),
    "quote": None,
    "text": None,
}

BLANK: Mapping[str, Any] = {"source": NO_SOURCE, "valid_from": rfc3339(0), "valid_to": None}
"""The fields whose blank value is not the empty value of their type."""


def unread(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer for a caller who may write but not read. Every field that could hold stored
    text is present but blank.
    """
    return {
        name: field if name in WRITERS_KNOW else _blank(name, field)
        for name, field in value.items()
    }


def _blank(name: str, field: Any) -> Any:
    if name in ("messages", "memories", "preferences", "entities", "relationships"):
        return [unread(row) for row in field]
    if name in BLANK:
        return BLANK[name]
    if isinstance(field, str):
        return field if name == "type" and field in TYPES else ""
    return {} if isinstance(field, Mapping) else field and type(field)()


def json_answer(
    body: str, *, status: int = 200, headers: Mapping[str, str | list[str]] | None = None
) -> Response[str]:
    return Response(
        status_code=status, content_type=content_types.APPLICATION_JSON, body=body, headers=headers
    )
