"""The tools that a caller can give to a model: search a user's memories, remember something, forget
something.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.message import Chat
from palimpsest.conversations.own_tools import FORGET_TOOL, REMEMBER_TOOL, SEARCH_TOOL
from palimpsest.errors import NotFound
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.record import MAX_CONTENT
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import TOPICAL, Statement
from palimpsest.recall.answer import USER_MEMORY, line_of_passage, user_memory
from palimpsest.recall.as_text import format_as_context, passage_of
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall, RecallResult
from palimpsest.scope import UserScope
from palimpsest.text.analyser import topic_key
from palimpsest.text.folding import normalized

ToolFormat = Literal["openai", "anthropic", "converse", "responses", "mcp"]

MOST_RECORDS = 5
IMPORTANCE = 0.7  # the importance of a memory that a model saves with a tool
Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CONTENT)
]
Arguments = TypeVar("Arguments", bound=BaseModel)


class SearchToolArguments(BaseModel):
    """The arguments of the search tool. Other arguments, such as a user's id, are ignored."""

    model_config = ConfigDict(strict=True)

    query: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)],
        Field(description="What to look for, in a few words or as a question."),
    ]


class RememberToolArguments(BaseModel):
    model_config = ConfigDict(strict=True)

    content: Annotated[Text, Field(description="One statement that can be understood by itself.")]
    type: Annotated[
        Literal["fact", "event", "instruction"],
        Field(
            description="An instruction is how the user wants to be treated; an event happened "
            "once."
        ),
    ] = "fact"
    topic: Annotated[
        Annotated[str, StringConstraints(max_length=200)] | None,
        Field(
            description="Only if the topic has one value at a time, such as home or employer: the "
            "new memory then replaces the last."
        ),
    ] = None


class ForgetToolArguments(BaseModel):
    model_config = ConfigDict(strict=True)

    memory: Annotated[
        Text, Field(description=f"The memory, word for word as {SEARCH_TOOL} shows it.")
    ]


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool as a model sees it. With `writes`, a call needs the scope `write` in addition to
    `read`.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    writes: bool = True

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the JSON schema of the tool's arguments."""
        made = self.arguments.model_json_schema()
        fields = {name: _described(field) for name, field in made["properties"].items()}
        return {
            "type": "object",
            "properties": fields,
            "required": made["required"],
            "additionalProperties": False,
        }


def _described(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a field's schema that every API understands: its type, description and
    allowed values.
    """
    # pydantic writes an optional field as "anyOf" its type and null
    kind = next((schema for schema in field.get("anyOf", ()) if schema["type"] != "null"), field)
    every = {**field, **kind}
    return {name: every[name] for name in ("type", "enum", "description") if name in every}


SEARCH = MemoryTool(
    SEARCH_TOOL,
    "Search and recall relevant memories about the user. Use this tool when you need to "
    "personalize your response based"
    " on user preferences, recall something the user mentioned before, or reference past "
    "interactions.",
    SearchToolArguments,
    writes=False,
)
REMEMBER = MemoryTool(
    REMEMBER_TOOL,
    "Remember something about the user for future conversations. Use this tool when the user asks "
    "you to remember"
    " something, or states a lasting preference, fact or instruction.",
    RememberToolArguments,
)
FORGET = MemoryTool(
    FORGET_TOOL,
    "Forget one memory about the user. Use this tool only when the user asks you to forget "
    "something; search for it"
    " first.",
    ForgetToolArguments,
)
TOOLS: Mapping[str, MemoryTool] = {tool.name: tool for tool in (SEARCH, REMEMBER, FORGET)}


@cache
def definition(tool: MemoryTool, form: ToolFormat) -> Mapping[str, Any]:
    """Return the definition of the tool in the form of an API. It is made once, because pydantic
    takes long to describe a model, and each context has the definition twice.
    """
    named = {"name": tool.name, "description": tool.description}
    match form:
        case "anthropic":
            return {**named, "input_schema": tool.parameters}
        case "mcp":
            return {**named, "inputSchema": tool.parameters}
        case "converse":
            return {"toolSpec": {**named, "inputSchema": {"json": tool.parameters}}}
        case "responses":
            # The strict mode of this API requires that every field is required.
            return {"type": "function", **named, "parameters": tool.parameters, "strict": False}
        case _:
            return {"type": "function", "function": {**named, "parameters": tool.parameters}}


def tool_named(name: str) -> MemoryTool:
    """Return the tool of this name. Raises `NotFound` (`tool_not_found`) if there is none."""
    if name not in TOOLS:
        raise NotFound("There is no such tool.", code="tool_not_found")
    return TOOLS[name]


def unusable(tool: MemoryTool) -> str:
    """Return the answer to arguments that can't be used. It says what is needed, so that the model
    can call again.
    """
    texts = " and ".join(f"one string `{name}`, not empty," for name in tool.parameters["required"])
    return (
        f"{USER_MEMORY}\n- The arguments can't be used: send one JSON object with {texts} instead."
    )


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """Answers a model's calls of tools. The user comes from the caller, never from the
    arguments.
    """

    recall: Recall
    remember: Remember
    manage: ManageMemories

    def __call__(
        self,
        tool: MemoryTool,
        scope: UserScope,
        arguments: object,
        *,
        tool_call_id: str | None = None,
        k: int | None = None,
        session: str | None = None,
        identify: bool = False,
    ) -> Chat:
        """Return a tool message that can be appended as it is. `arguments` are the arguments from
        the model, as JSON text or an object. A search shows at most `k` memories (None: the limit
        of the asking `session`, or five), and no messages in the window of that session. If
        `identify`, the message of a search also has `recall_id` and `memory_ids` for feedback.

        If the arguments can't be used, the message says so, and the model can call again. Raises
        `Unavailable`, and `NotFound` if the user has no such session.
        """
        call = _read(tool.arguments, arguments)
        named: Chat = {}
        match call:
            case SearchToolArguments():
                result = self._search(scope, call.query, k=k, session=session)
                content = format_as_context(result.memories, user=scope.user, query=call.query)
                if identify:
                    named = _named(result, user=scope.user, query=call.query)
            case RememberToolArguments():
                content = self._remember(scope, call)
            case ForgetToolArguments():
                content = self._forget(scope, call.memory)
            case _:
                content = unusable(tool)
        message = {"role": "tool", "tool_call_id": tool_call_id, "content": content, **named}
        return {name: value for name, value in message.items() if value is not None}

    def _search(
        self, scope: UserScope, query: str, *, k: int | None, session: str | None
    ) -> RecallResult:
        most = self._most_records(scope, session)
        wanted = k or most or MOST_RECORDS
        # The limit of the session holds even if the caller asks for more.
        request = RecallRequest(query=query, k=min(wanted, most or wanted), session=session)
        return self.recall(scope, request)

    def _most_records(self, scope: UserScope, session: str | None) -> int | None:
        """Return the `max_records` of the asking session, or None if it sets no limit or does not
        exist.
        """
        if session is None:
            return None
        settings = self.recall.sessions.open(scope.owner.session(session), settings=True).settings
        return None if settings is None else parsed(dict(settings.memory)).max_records

    def _remember(self, scope: UserScope, call: RememberToolArguments) -> str:
        topic = topic_key(call.topic or "") if call.type in TOPICAL else None
        statement = Statement(
            type=call.type, content=call.content, topic=topic, importance=IMPORTANCE
        )
        (made,) = self.remember(scope, [statement])
        answer = "Remembered." if made.outcome == "created" else "Known already."
        return f"{USER_MEMORY}\n- {answer}"

    def _forget(self, scope: UserScope, memory: str) -> str:
        """Forget the memory with this text. If there is none, show similar memories, so that the
        model can name one of them.
        """
        recalled = self.recall(scope, RecallRequest(query=memory, k=MOST_RECORDS))
        near = [similar for similar in recalled.memories if similar.record is not None]
        wanted = normalized(memory.removeprefix("- "))
        for similar in near:
            shown = line_of_passage(passage_of(similar, user=scope.user))
            # The exact words only, because a model that paraphrases may mean another memory.
            if wanted in (normalized(similar.content), normalized(shown)):
                self.manage.delete(scope, similar.id)
                return f"{USER_MEMORY}\n- Forgotten."
        listed = user_memory([passage_of(similar, user=scope.user) for similar in near])
        return listed + "\n- Nothing was forgotten: name one of these memories word for word."


def _named(result: RecallResult, *, user: str, query: str) -> Chat:
    return {
        "recall_id": result.recall_id(user=user, query=query),
        "memory_ids": [memory.id for memory in result.memories],
    }


def _read(kind: type[Arguments], arguments: object) -> Arguments | None:
    """Return the arguments of a call, or None if they can't be used."""
    fields = arguments
    if isinstance(arguments, str):
        try:
            fields = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    try:
        return kind.model_validate(fields)
    except ValidationError:
        return None
