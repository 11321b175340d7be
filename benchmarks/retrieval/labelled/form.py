"""The form of a labelled set for the memory benchmark: conversations, questions, and topics that
changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import AwareDatetime, ConfigDict

Role = Literal["system", "developer", "user", "assistant", "tool"]
QuestionKind = Literal[
    "single-hop",
    "multi-hop",
    "temporal",
    "preference",
    "assistant-said",
    "sum",
    "change",
    "no-answer",
]
SupersessionKind = Literal["changed", "corrected-twice", "returned", "reworded"]


class Strict:
    """A model in which unknown fields and wrong types are faults, because a label with a typing
    error must not be ignored.
    """

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Function(Strict):
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCall(Strict):
    id: str
    function: Function
    type: Literal["function"] = "function"


@dataclass(frozen=True, slots=True)
class Message(Strict):
    """One message of the chat API, with an id that is unique in the set and the time at which it
    was said.
    """

    id: str
    role: Role
    timestamp: AwareDatetime
    content: str | None = None
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def chat(self) -> dict[str, Any]:
        """Return the message in the form of the chat API, without nulls."""
        calls = [asdict(call) for call in self.tool_calls]
        body = {
            "role": self.role,
            "content": self.content,
            "name": self.name,
            "tool_calls": calls or None,
        }
        return {
            key: value
            for key, value in (body | {"tool_call_id": self.tool_call_id}).items()
            if value is not None
        }

    @property
    def text(self) -> str:
        """Return everything that can be quoted: the content, then the arguments of its calls."""
        return "\n".join(
            filter(None, (self.content, *(call.function.arguments for call in self.tool_calls)))
        )


@dataclass(frozen=True, slots=True)
class Session(Strict):
    id: str
    user: str
    messages: tuple[Message, ...]
    agent: str | None = None
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Conversation(Strict):
    """The conversation of one user with one agent, over several sessions."""

    id: str
    domain: str
    sessions: tuple[Session, ...]


@dataclass(frozen=True, slots=True)
class Evidence(Strict):
    """A message that answers a question, and the words in it that do so."""

    message: str
    quote: str


@dataclass(frozen=True, slots=True)
class Question(Strict):
    """A question. `evidence` names all messages that answer it. `elsewhere` names messages of other
    users that must not be returned for it.
    """

    id: str
    user: str
    kind: QuestionKind
    question: str
    evidence: tuple[Evidence, ...] = ()
    answer: str = ""
    language: str = "en"
    cross_lingual: bool = False
    elsewhere: tuple[Evidence, ...] = ()

    @property
    def answer_ids(self) -> tuple[str, ...]:
        return tuple(evidence.message for evidence in self.evidence)


@dataclass(frozen=True, slots=True)
class OldStatement(Strict):
    """A statement that was replaced. `wrong` is the word that shows the old value. It is None if
    the value is valid again.
    """

    message: str
    text: str
    quote: str
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class NewStatement(Strict):
    """The statement that is valid. `keyword` is a word that a right answer contains."""

    message: str
    text: str
    quote: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Supersession(Strict):
    """A topic whose value changed. `old` are the earlier statements in the order in which they were
    said. `new` is the statement that is valid at the end.

    `told_in` says where the change is stated: also as versions of a record, or in the messages
    alone.
    """

    id: str
    user: str
    kind: SupersessionKind
    topic: str
    question: str
    old: tuple[OldStatement, ...]
    new: NewStatement
    told_in: Literal["records", "messages"] = "records"

    @property
    def stale(self) -> tuple[OldStatement, ...]:
        """Return the statements that must not be returned as current."""
        return tuple(old for old in self.old if old.wrong is not None)


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    conversations: tuple[Conversation, ...]
    questions: tuple[Question, ...]
    supersessions: tuple[Supersession, ...]
    _messages: Mapping[str, Message] = field(init=False, repr=False, compare=False)
    _sessions: Mapping[str, Session] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        placed = [(message, session) for session in self.sessions() for message in session.messages]
        object.__setattr__(self, "_messages", {message.id: message for message, _ in placed})
        object.__setattr__(self, "_sessions", {message.id: session for message, session in placed})

    def sessions(self, user: str | None = None) -> tuple[Session, ...]:
        """Return all sessions, or those of one user, in the order in which they began."""
        every = (
            session for conversation in self.conversations for session in conversation.sessions
        )
        wanted = [session for session in every if session.messages and user in (None, session.user)]
        return tuple(sorted(wanted, key=lambda session: session.messages[0].timestamp))

    def users(self) -> tuple[str, ...]:
        return tuple(sorted({session.user for session in self.sessions()}))

    def __contains__(self, message: str) -> bool:
        return message in self._messages

    def message(self, message: str) -> Message:
        return self._messages[message]

    def session_of(self, message: str) -> Session:
        return self._sessions[message]

    def counts(self) -> dict[str, int]:
        """Return the sizes, and the number of questions by kind and by language (`kind:…`,
        `language:…`, `cross-lingual`).
        """
        return {
            "conversations": len(self.conversations),
            "sessions": len(self.sessions()),
            "users": len(self.users()),
            "messages": len(self._messages),
            "questions": len(self.questions),
            "supersessions": len(self.supersessions),
            "cross-lingual": sum(question.cross_lingual for question in self.questions),
            **Counter(f"kind:{question.kind}" for question in self.questions),
            **Counter(f"language:{question.language}" for question in self.questions),
        }
