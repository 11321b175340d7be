"""The chat messages that callers send. They are checked by role and split into fields for contexts
and other fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from palimpsest.api.fields import LIKE_AN_ID, Timestamp
from palimpsest.api.problems import INVALID_ID
from palimpsest.conversations.drafts import MAX_TOOL_CALLS, Draft
from palimpsest.conversations.message import CHAT_FIELDS, ITEM, Chat, short_call_id
from palimpsest.conversations.spoken import unlike_a_summary
from palimpsest.errors import BadRequest
from palimpsest.scope import checked_id

OWN_FIELDS = ("id", "timestamp", "metadata")
"""The fields of a message that this API has in addition to the chat API's."""
CALL_FIELDS = {"function": ("name", "arguments"), "custom": ("name", "input")}
MAX_NAME = 64
IN_ROLES_OF_SUMMARIES = frozenset({"user", "system", "developer"})
_REFUSED_IN_NAMES, _REFUSED_IN_TOOLS = re.compile(r"[\s<|\\/>]"), re.compile(r"[^A-Za-z0-9_-]")
"""The characters that the chat API refuses in names of speakers and in names of tools. In contexts,
`_` replaces them.
"""
Build = Callable[[Any, Callable[[Any], Any]], Any]


def _id(value: str) -> str:
    try:
        return checked_id(value, field="id")
    except BadRequest as error:
        raise PydanticCustomError(
            INVALID_ID, "{wrong}", {"wrong": error.errors[0].message}
        ) from error


Id = Annotated[str, AfterValidator(_id), Field(json_schema_extra=LIKE_AN_ID)]
Metadata = Annotated[dict[str, Any], Field(max_length=64)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
CallId = Annotated[str, Field(min_length=1, max_length=256)]


THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
HELD = {
    "image_url": (("url",),),
    "input_audio": (("data", "format"),),
    "file": (("file_id",), ("file_data",)),
}
"""The texts that the object of a part must have, by the part's type. One of these groups of texts
is enough.
"""


class Part(BaseModel):
    """One part of a content in the form of the chat API. Any message may have texts. An assistant's
    message may also have refusals. A user's message may also have images, audio and files. The
    parts `input_text`, `output_text` and `input_image` of other APIs are translated. An assistant's
    `thinking`, `redacted_thinking` and `reasoning` are kept in the history and left out of
    contexts.
    """

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)
    carried: ClassVar[Mapping[str, type]] = {"text": str}
    unshown: ClassVar[frozenset[str]] = frozenset()

    type: Annotated[str, Field(min_length=1, max_length=64)]
    text: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_one_of_the_chat_api(cls, raw: Any) -> Any:
        if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
            return raw
        if raw["type"] in cls.unshown:
            return raw
        part = chat_part(raw)
        kind, needed = part["type"], cls.carried.get(part["type"])
        if needed is None:
            hint = INSTEAD.get(kind, f"its parts are {', '.join(cls.carried)}")
            message = f"{kind[:64]!r} is no part that the chat API takes here: {hint}"
            raise ValueError(message)
        if not isinstance(part.get(kind), needed):
            message = f"a part of type {kind} needs {kind}"
            raise ValueError(message)  # noqa: TRY004 - pydantic's own
        if choices := HELD.get(kind):
            texts = {name for name, value in part[kind].items() if isinstance(value, str)}
            if not any(texts.issuperset(names) for names in choices):
                needs = " or ".join(" and ".join(names) for names in choices)
                message = f"{kind} needs {needs}, as text"
                raise ValueError(message)
        return raw


class PartOfUser(Part):
    carried = {"text": str, "image_url": dict, "input_audio": dict, "file": dict}


class PartOfAssistant(Part):
    carried = {"text": str, "refusal": str}
    unshown = THOUGHTS


INSTEAD = {
    "tool_use": "send it in tool_calls",
    "tool_result": "send it as a message of the role tool",
}


def chat_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part with only its type and the field that its type names. Texts and images of the
    Responses API are converted to the chat API's form.
    """
    kind = part["type"]
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": part.get("text")}
    if kind in ("input_image", "image_url") and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    return {"type": kind, kind: part.get(kind)}


def _kind_of_content(value: object) -> str:
    return "<text>" if isinstance(value, str) else "<parts>"


SomePart = TypeVar("SomePart", bound=Part)
Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[SomePart], Field(min_length=1), Tag("<parts>")],
    Discriminator(_kind_of_content),
]


class FunctionOfCall(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    name: Name
    arguments: Annotated[str, Field(description="JSON as text, as the model wrote it")]


class CustomOfCall(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    name: Name
    input: str


class FunctionCall(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    id: CallId
    type: Literal["function"]
    function: FunctionOfCall


class CustomCall(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    id: CallId
    type: Literal["custom"]
    custom: CustomOfCall


ToolCall = Annotated[FunctionCall | CustomCall, Field(discriminator="type")]


class _Message(BaseModel):
    """The fields of every message. Unknown fields are stored and returned in the history."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    id: Annotated[
        Id | None,
        Field(description="The caller's own id; ids on all messages make an append repeatable"),
    ] = None
    timestamp: Annotated[
        Timestamp | None, Field(description="When it was sent, by the caller's clock")
    ] = None
    metadata: Metadata | None = None
    off_record: Annotated[
        bool | None,
        Field(
            description="Nothing of it is remembered, and only its own session sees it. If it is "
            "a user's message, the answers to it are off the record too"
        ),
    ] = None


class SystemMessage(_Message):
    role: Literal["system", "developer"]
    content: Content[Part]
    name: Name | None = None


class UserMessage(_Message):
    role: Literal["user"]
    content: Content[PartOfUser]
    name: Name | None = None


class AssistantMessage(_Message):
    role: Literal["assistant"]
    content: Content[PartOfAssistant] | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[ToolCall] | None, Field(max_length=MAX_TOOL_CALLS)] = None
    name: Name | None = None

    @model_validator(mode="after")
    def _not_blank(self) -> AssistantMessage:
        if self.content is None and self.refusal is None and not self.tool_calls:
            raise ValueError("an assistant message needs content, tool_calls or refusal")
        has_text = (
            self.content is None
            or isinstance(self.content, str)
            or any(p.type not in THOUGHTS for p in self.content)
        )
        if not has_text and self.refusal is None and not self.tool_calls:
            raise ValueError("thoughts alone aren't a message of the chat API; use the role item")
        ids = [short_call_id(call.id) for call in self.tool_calls or ()]
        if len(set(ids)) < len(ids):
            raise ValueError("two tool_calls have the same id")
        return self


class ItemMessage(_Message):
    """Data that isn't a message of the chat API, such as a model's reasoning. The history keeps it,
    and contexts leave it out.
    """

    role: Literal["item"]
    item: Annotated[
        dict[str, Any], Field(min_length=1, description="The item in the form of the other API")
    ]


class ToolMessage(_Message):
    role: Literal["tool"]
    content: Content[Part]
    tool_call_id: CallId


class _Read:
    """An annotation for a type that is validated as `kind` and then built by `build` from the
    original input. With `or_text`, its schema also allows a text.
    """

    def __init__(self, kind: Any, build: Build, *, or_text: bool = False) -> None:
        self.kind, self.build, self.or_text = kind, build, or_text

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            self.build, handler.generate_schema(self.kind)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        return {"anyOf": [{"type": "string"}, described]} if self.or_text else described


def _without_nulls(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _draft(raw: Any, check: Callable[[Any], Any]) -> Draft:
    if not isinstance(raw, dict):
        check(raw)
    fields = {
        name: value
        for name, value in raw.items()
        if value is not None and (name, value) != ("tool_calls", [])
    }
    check(fields)
    carried = ("role", "item") if fields["role"] == ITEM else CHAT_FIELDS[fields["role"]]
    sent = {name: fields[name] for name in carried if name in fields}
    if isinstance(sent.get("content"), list):
        sent["content"] = [_without_nulls(part) for part in sent["content"]]
    chat = _as_the_chat_api_takes_it(sent)
    extra = {
        name: value
        for name, value in fields.items()
        if name not in carried and name not in OWN_FIELDS
    }
    extra |= {name: value for name, value in sent.items() if chat.get(name) != value}
    return Draft(
        chat=chat,
        extra=extra,
        client_id=fields.get("id"),
        timestamp=fields.get("timestamp"),
        metadata=fields.get("metadata") or {},
    )


def _as_the_chat_api_takes_it(sent: Mapping[str, Any]) -> dict[str, Any]:
    chat = dict(sent)
    if "tool_calls" in chat:
        chat["tool_calls"] = [_call(call) for call in chat["tool_calls"]]
    if isinstance(chat.get("content"), list):
        chat["content"] = [
            chat_part(part) for part in chat["content"] if part["type"] not in THOUGHTS
        ]
        if not chat["content"]:
            del chat["content"]
    if chat["role"] in IN_ROLES_OF_SUMMARIES:
        chat["content"] = unlike_a_summary(chat["content"])
    if "name" in chat:
        chat["name"] = _REFUSED_IN_NAMES.sub("_", chat["name"])[:MAX_NAME]
    return chat


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call as the chat API takes it, without additional fields of a provider or a
    stream.
    """
    kind = call["type"]
    fields = {name: call[kind][name] for name in CALL_FIELDS[kind]}
    fields["name"] = _REFUSED_IN_TOOLS.sub("_", fields["name"])[:MAX_NAME]
    return {"id": call["id"], "type": kind, kind: fields}


def _spoken(role: str) -> Build:
    def build(raw: Any, check: Callable[[Any], Any]) -> Chat:
        return _draft({"role": role, "content": raw} if isinstance(raw, str) else raw, check).chat

    return build


ChatMessage = Annotated[
    Draft,
    _Read(
        Annotated[
            SystemMessage | UserMessage | AssistantMessage | ToolMessage | ItemMessage,
            Field(discriminator="role"),
        ],
        _draft,
    ),
]
Given = Annotated[Chat, _Read(UserMessage, _spoken("user"), or_text=True)]
System = Annotated[Chat, _Read(SystemMessage, _spoken("system"), or_text=True)]
