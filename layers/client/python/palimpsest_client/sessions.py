"""The operations on one session, as steps, and the turn, which is the next input of a model. The
steps are described in `calls`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from palimpsest_client.calls import ID, Listing, Steps, call, checked_id
from palimpsest_client.errors import SessionExists, SessionNotFound
from palimpsest_client.said import Message, Said, message_of
from palimpsest_client.types import (
    Appended,
    Compaction,
    Context,
    EndedSession,
    HistoryMessage,
    Session,
    WindowEmptied,
)
from palimpsest_client.users import UserCalls

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """The next input of a model, and the state of the conversation.

    Send `messages` and `tools` to the model as they are. `memory` is the text of the memories in
    them. `text` is what the assistant said last. `calls` are its calls of the program's own tools.
    The program runs them, and passes their results to `answer`. If `is_done` is true, the reply is
    complete, and the model is called again only after the user's next message.
    """

    messages: list[Message]
    tools: list[JSON]
    memory: str
    context: Context
    text: str = ""
    calls: Sequence[JSON] = ()
    is_done: bool = False
    stored: Sequence[int] = field(default=())


class SessionCalls:
    """The calls of the session `id`. The first append creates it for `user`, with the configuration
    `memory`. With `tools`, its contexts offer our tools to the model. A session that exists keeps
    its own configuration.
    """

    def __init__(
        self,
        session_id: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        memory: Mapping[str, Any] | None = None,
        tools: bool = True,
    ) -> None:
        self.id, self.user, self.agent = session_id, user, agent
        self._configuration = {**({} if tools else {"auto_recall": False}), **(memory or {})}
        self._ours: set[str] | None = None

    def append(
        self,
        *messages: Said,
        context: Mapping[str, Any] | None = None,
        allow_repeat: bool | None = None,
        if_last: int | None = None,
        usage: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Steps[Appended]:
        """Store 1 to 50 messages, all or none. With `context` (`{}` for the defaults), the answer
        holds the model's next input. Repeating the call with the same `key`, or with messages that
        each have an `id`, stores nothing twice. With `if_last`, the messages are stored only if the
        newest message has that number; otherwise raises `HistoryMovedOn`. `usage` is the usage of
        the model call that made the messages: `model`, `tokens_in`, `cached_tokens`,
        `written_tokens` and `tokens_out`.
        """
        sent = [message_of(message) for message in messages]
        body = {
            "user_id": self.user,
            "agent_id": self.agent,
            "messages": sent,
            "context": context,
            "allow_repeat": allow_repeat,
            "if_last": if_last,
            "usage": usage,
            "memory": self._configuration if self.user else None,
        }
        key = key or _key_of_ids(sent)
        return call("POST", "sessions", self.id, "messages", body=body, key=key)

    def context(
        self,
        message: Said | None = None,
        *,
        max_tokens: int | None = None,
        model: str | None = None,
        compact: str | None = None,
        explain: bool | None = None,
        at: int | None = None,
        format: str | None = None,  # noqa: A002 - as the API calls it
        after: str | None = None,
        cache_points: bool | None = None,
    ) -> Steps[Context]:
        """Return the messages for the model's next call, within its budget. `message` is the user's
        message about to be sent. Its tokens are counted, but it is not stored. `format` is the API
        for which the context is written: `openai`, `anthropic`, `converse` or `responses`. `after`
        is the `cache.mark` of an earlier context. With it, `cache` says how much of the beginning
        both contexts share. Raises `SessionNotFound` and `BudgetTooSmall`.
        """
        options = {
            "max_tokens": max_tokens,
            "model": model,
            "compact": compact,
            "explain": explain,
            "at": at,
            "format": format,
            "after": after,
            "cache_points": cache_points,
        }
        query = {"user_id": self.user}
        if message is None:
            return call("GET", "sessions", self.id, "context", query=query | options)
        body = {**options, "message": message_of(message)}
        return call("POST", "sessions", self.id, "context", body=body, query=query)

    def begun_context(self, /, **options: Any) -> Steps[Context]:
        """Return the context, with the `options` of `context`. If the session does not exist,
        create it first, so that the context shows what is known of the user.
        """
        try:
            return (yield from self.context(**options))
        except SessionNotFound:
            with suppress(SessionExists):
                yield from self.begin()
        return (yield from self.context(**options))

    def say(self, /, *messages: Said, key: str | None = None, **options: Any) -> Steps[Turn]:
        """Store what the user says (texts or messages), and return the model's next input.
        `options` are those of `context`.
        """
        return self._turn([message_of(message) for message in messages], options, key=key)

    def answered(
        self, /, replies: Sequence[Message], *, key: str | None = None, **options: Any
    ) -> Steps[Turn]:
        """Store the model's reply, together with the results of its calls of our tools, and return
        the next turn. Results of other tools are messages with the role `tool`.
        """
        results, others = [], []
        for wanted in (
            tool_call for reply in replies for tool_call in reply.get("tool_calls") or ()
        ):
            if wanted.get("type", "function") == "function" and wanted["function"]["name"] in (
                yield from self._tools()
            ):
                results.append((yield from self._result(wanted)))
            else:
                others.append(wanted)
        text = next(
            (_text(reply) for reply in reversed(replies) if reply["role"] == "assistant"), ""
        )
        has_results = bool(results) or any(reply["role"] == "tool" for reply in replies)
        turn = yield from self._turn([*replies, *results], options, key=key)
        return Turn(
            turn.messages, turn.tools, turn.memory, turn.context, text, others,
            is_done=not others and not has_results, stored=turn.stored,
        )  # fmt: skip

    def _turn(
        self, messages: Sequence[Message], options: Mapping[str, Any], *, key: str | None
    ) -> Steps[Turn]:
        done = yield from self.append(*messages, context=dict(options), key=key)
        context = done.get("context")
        if context is None:  # the append is done, but the context could not be read with it
            context = yield from self.context(**options)
        tools = list(context.get("tools") or ())
        if tools and "function" in tools[0]:
            # in the form of OpenAI's chat API; `GET /v1/tools` names the other forms
            self._ours = {tool["function"]["name"] for tool in tools}
        seqs = [message["seq"] for message in done["messages"]]
        return Turn(
            list(context["messages"]), tools, context["memory_prompt"], context, stored=seqs
        )

    def _tools(self) -> Steps[set[str]]:
        """Return the names of our tools."""
        if self._ours is None:
            answer = yield from call("GET", "tools")
            self._ours = {tool["function"]["name"] for tool in answer["tools"]}
        return self._ours

    def _result(self, wanted: Mapping[str, Any]) -> Steps[Message]:
        if self.user is None:
            self.user = (yield from self.read())["user_id"]
        function = wanted["function"]
        answer = yield from UserCalls(self.user).call_tool(
            function["name"], function["arguments"], call_id=wanted["id"], session=self.id
        )
        return cast("Message", answer)

    def read(self) -> Steps[Session]:
        """Return the session. Raises `SessionNotFound`, also if it is another user's session."""
        return call("GET", "sessions", self.id, query={"user_id": self.user})

    def begin(
        self, *, system: Said | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Steps[Session]:
        """Create the session before its first message. Raises `SessionExists`."""
        body = {
            "session_id": self.id, "user_id": self.user, "agent_id": self.agent, "system": system,
            "metadata": metadata, "memory": self._configuration,
        }  # fmt: skip
        return call("POST", "sessions", body=body)

    def configure(self, /, **fields: Any) -> Steps[Session]:
        """Change `memory`, `system` or `metadata`. Fields that are not given stay, and a value of
        None removes a field.
        """
        return call("PATCH", "sessions", self.id, body=fields)

    def messages(self, *, limit: int | None = None, order: str = "asc") -> Listing[HistoryMessage]:
        """List every message, word for word. The oldest comes first, or with `order="desc"` the
        newest.
        """
        return Listing(
            ("sessions", self.id, "messages"),
            "messages",
            {"order": order, "user_id": self.user},
            limit,
        )

    def message(self, seq: int) -> Steps[HistoryMessage]:
        return call("GET", "sessions", self.id, "messages", seq, query={"user_id": self.user})

    def compactions(self, *, limit: int | None = None) -> Listing[Compaction]:
        """List the parts of the conversation that have left the window, each with its summary."""
        return Listing(
            ("sessions", self.id, "compactions"), "compactions", {"user_id": self.user}, limit
        )

    def unfold(self, n: int, *, limit: int | None = None) -> Listing[HistoryMessage]:
        """List the messages that compaction `n` covers."""
        query = {"user_id": self.user}
        return Listing(
            ("sessions", self.id, "compactions", n, "messages"), "messages", query, limit
        )

    def prune(
        self,
        strategy: str,
        *,
        max_tokens: int | None = None,
        message: Said | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Make room in the window with a strategy. `fifo` removes the oldest messages. `semantic`
        keeps the messages that matter most to `message`, or to the user's newest message.
        `summarize` replaces messages by a summary, which may be done by a job.
        """
        about = None if message is None else message_of(message)
        body = {"strategy": strategy, "max_tokens": max_tokens, "message": about, "wait": wait}
        return call("POST", "sessions", self.id, "prune", body=body)

    def extract(self, *, if_needed: bool | None = None, wait: float | None = None) -> Steps[JSON]:
        """Extract memories from the messages after the last extraction."""
        return call(
            "POST", "sessions", self.id, "extract", body={"if_needed": if_needed, "wait": wait}
        )

    def empty_window(self) -> Steps[WindowEmptied]:
        """Begin the next context without messages. The history stays."""
        return call("DELETE", "sessions", self.id, "messages")

    def withdraw(
        self, seq: int, *, if_last: int | None = None, wait: float | None = None
    ) -> Steps[JSON]:
        """Remove every message from this sequence number on, and the memories that were made from
        them alone. With `if_last`, remove them only if that is the number of the newest message.
        Otherwise raises `HistoryMovedOn`.
        """
        return call(
            "DELETE",
            "sessions",
            self.id,
            "messages",
            query={"from": seq, "if_last": if_last, "wait": wait},
        )

    def redact(
        self,
        seq: int,
        content: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Replace the content of a message, and remove what was made from it. Raises
        `MessageNotFound`.
        """
        body = {"content": content, "metadata": metadata, "wait": wait or 0}
        return call("PATCH", "sessions", self.id, "messages", seq, body=body)

    def end(self, *, wait: float | None = None) -> Steps[EndedSession]:
        """Mark the session as ended, and extract memories from all of it. The next append opens it
        again.
        """
        return call("POST", "sessions", self.id, "end", body={"wait": wait})

    def delete(
        self, *, keep_memories: bool | None = None, wait: float | None = None
    ) -> Steps[JSON]:
        """Remove the session. Memories that have no other source are removed too, unless
        `keep_memories` is true.
        """
        return call(
            "DELETE", "sessions", self.id, query={"keep_memories": keep_memories, "wait": wait}
        )


def id_for(user: str, name: str) -> str:
    """Return the id of the session that this user calls `name`. It is always the same. Ids belong
    to the tenant, so the sessions of two users with the same name have different ids. Raises
    `InvalidId`.
    """
    whose, what = checked_id(user), checked_id(name)
    plain = f"{whose}:{what}"
    if ":" not in whose and ID.fullmatch(plain):
        return plain
    short = f"{_hash(whose)}:{what}"  # "a:b" may name no session of "a"
    return short if ID.fullmatch(short) else f"{_hash(whose)}:{_hash(what)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _key_of_ids(messages: Sequence[Message]) -> str | None:
    """Return the key that the service makes from the ids of all messages, or None if a message has
    no id.
    """
    ids = [str(message["id"]) for message in messages if message.get("id")]
    return (
        "ids:" + hashlib.sha256("\x1f".join(ids).encode()).hexdigest()
        if len(ids) == len(messages)
        else None
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content)
