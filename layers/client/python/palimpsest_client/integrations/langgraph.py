"""LangGraph's `BaseStore` and LangChain's chat history over a user's memory.

store = PalimpsestStore(user=lambda namespace: namespace[0])
graph = builder.compile(store=store)
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import anyio.to_thread
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import convert_to_messages, convert_to_openai_messages
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from palimpsest_client.blocking import Palimpsest, User
from palimpsest_client.errors import SessionNotFound
from palimpsest_client.said import parts
from palimpsest_client.used import Used, counted, summed

Namespace = tuple[str, ...]
MOST_FOUND = 100  # memories of one recall
MOST_AT_ONCE = 50  # messages that one append takes
LONGEST = 4000  # characters of a memory
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class PalimpsestStore(BaseStore):
    """Stores each item as a memory of a user, with versions. Overwritten values stay in its
    history.

    `user` is the user who owns all namespaces, or a function that returns the user of a namespace.
    The function returns None for a prefix that several users share. A search with a `query` finds
    items by words and meaning, with scores. A search without a `query` lists the newest items
    first.
    """

    def __init__(
        self, *, user: str | Callable[[Namespace], str | None], memory: Palimpsest | None = None
    ) -> None:
        self._user = user
        self._memory = memory or Palimpsest()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations one after another, and return their results."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await anyio.to_thread.run_sync(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                item = self._find(op.namespace, op.key)
                return None if item is None else Item(**_item(item))
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return list(islice(self._searched(op), op.offset, op.offset + op.limit))
            case ListNamespacesOp():
                return self._namespaces(op)

    def _find(self, namespace: Namespace, key: str) -> Mapping[str, Any] | None:
        return next(
            self._owner(namespace).memories(topic_key=_topic(namespace, key), limit=1), None
        )

    def _put(self, op: PutOp) -> None:
        owner = self._owner(op.namespace)
        if op.value is None:
            if item := self._find(op.namespace, op.key):
                owner.delete(item["id"])
            return
        data = {"namespace": list(op.namespace), "key": op.key, "value": op.value}
        metadata = {"store": "langgraph", "indexed": op.index is not False, **_labels(op.namespace)}
        owner.remember(
            _text(op.value)[:LONGEST],
            topic=_topic(op.namespace, op.key),
            metadata=metadata,
            data=data,
        )

    def _searched(self, op: SearchOp) -> Iterator[SearchItem]:
        where: dict[str, Any] = {"store": "langgraph", **_labels(op.namespace_prefix)}
        for owner in self._owners(op.namespace_prefix):
            rows: Iterable[Mapping[str, Any]]
            if op.query:
                limits: Any = {"types": ["fact"], "metadata": {**where, "indexed": True}}
                rows = owner.recall(op.query, k=MOST_FOUND, filter=limits)["memories"]
            else:
                rows = owner.memories(
                    metadata=[f"{name}={json.dumps(value)}" for name, value in where.items()]
                )
            for row in rows:
                item = SearchItem(**_item(row), score=row.get("score"))
                if all(
                    _passes(item.value.get(name), wanted)
                    for name, wanted in (op.filter or {}).items()
                ):
                    yield item

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        namespaces = {
            tuple(memory["data"]["namespace"])
            for owner in self._owners(())
            for memory in owner.memories(metadata=["store=langgraph"])
        }
        conditions = op.match_conditions or ()

        def matches_all(namespace: Namespace) -> bool:
            return all(_matches(namespace, condition) for condition in conditions)

        kept = {namespace[: op.max_depth] for namespace in filter(matches_all, namespaces)}
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _owner(self, namespace: Namespace) -> User:
        user = self._user if isinstance(self._user, str) else self._user(namespace)
        if user is None:
            raise ValueError(f"`user` returned no user for the namespace {namespace}.")
        return self._memory.user(user)

    def _owners(self, prefix: Namespace) -> Iterator[User]:
        """Yield the users whose memory may hold items under a prefix."""
        try:
            user = self._user if isinstance(self._user, str) else self._user(prefix)
        except IndexError:  # the prefix is too short to name one
            user = None
        names = [user] if user else [known_user["user_id"] for known_user in self._memory.users()]
        return map(self._memory.user, names)


class PalimpsestChatMessageHistory(BaseChatMessageHistory):
    """Implements LangChain's chat history. `messages` is the model's next input. It is within the
    session's budget, and has memories of the user from the session's first message on. With
    `whole`, `messages` is every stored message, and nothing else.

    With `cache_points`, `messages` marks the places up to which a prompt cache stores the input.
    Anthropic's models need these marks. OpenAI's models take the `prompt_cache_key` instead.
    """

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        memory: Palimpsest | None = None,
        whole: bool = False,
        cache_points: bool = False,
    ) -> None:
        self._session = (memory or Palimpsest()).session(session_id, user=user, tools=False)
        self._whole, self._has_points = whole, cache_points
        self._key: str | None = None

    @property
    def prompt_cache_key(self) -> str:
        """The key by which a provider routes the session's prompts to the same cache, for
        `model.bind(prompt_cache_key=...)`.
        """
        if self._key is None:
            self._key = self._session.begun_context()["prompt_cache_key"]
        return self._key

    @property
    def messages(self) -> list[BaseMessage]:
        if not self._whole:
            context = self._session.begun_context(explain=self._has_points or None)
            self._key = context.get("prompt_cache_key")
            points = context["trace"]["cache"]["points"] if self._has_points else ()
            return list(convert_to_messages(with_points(context["messages"], points)))
        try:
            return list(convert_to_messages([_chat(row) for row in self._session.messages()]))
        except SessionNotFound:
            return []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, up to 50 of them all or none. The usage of the model calls that made them
        is counted together.
        """
        used = summed(usage for message in messages if (usage := used_of(message)) is not None)
        for part in parts(convert_to_openai_messages(list(messages)), most=MOST_AT_ONCE):
            self._session.append(*part, usage=used)
            used = None

    def clear(self) -> None:
        """Remove all messages, and the memories that were made from them alone."""
        try:
            self._session.withdraw(1).wait()
        except SessionNotFound:
            return


def with_points(
    messages: Sequence[Mapping[str, Any]], points: Sequence[int]
) -> list[Mapping[str, Any]]:
    """Return the messages with a cache point after each of these numbers, as Anthropic's models
    take it. Messages without text can't have one.
    """
    return [
        _with_point(message) if number in points else message
        for number, message in enumerate(messages)
    ]


def _with_point(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not content or blocks[-1]["type"] != "text":
        return message
    last = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
    return {**message, "content": [*blocks[:-1], last]}


def used_of(message: BaseMessage) -> Used | None:
    """Return the usage of the model call that made the message, with the part that a prompt cache
    served; None if the message does not state it.
    """
    usage = getattr(message, "usage_metadata", None)
    if not usage:
        return None
    details = usage.get("input_token_details") or {}
    model = message.response_metadata.get("model_name") or message.response_metadata.get("model")
    return counted(
        model,
        tokens_in=usage["input_tokens"],
        cached=details.get("cache_read"),
        written=details.get("cache_creation") or 0,
        tokens_out=usage["output_tokens"],
    )


def _chat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: row[name]
        for name in ("role", "content", "name", "tool_calls", "tool_call_id")
        if name in row
    }


def _item(record: Mapping[str, Any]) -> dict[str, Any]:
    data, at = record["data"], datetime.fromisoformat(record["valid_from"])
    return {
        "value": data["value"],
        "key": data["key"],
        "namespace": tuple(data["namespace"]),
        "created_at": at,
        "updated_at": at,
    }


def _topic(namespace: Namespace, key: str) -> str:
    return "store_" + hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()[:40]


def _labels(namespace: Namespace) -> dict[str, str]:
    """Return the labels by which a prefix of namespaces is found."""
    return {f"ns{place}": label for place, label in enumerate(namespace)}


def _text(value: Mapping[str, Any]) -> str:
    """Return the text of a value by which it is searched."""
    if len(value) == 1 and isinstance(only := next(iter(value.values())), str) and only.strip():
        return only
    fields = {
        name: part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        for name, part in value.items()
    }
    return "; ".join(f"{name}: {part}" for name, part in fields.items()) or "{}"


def _passes(value: Any, wanted: Any) -> bool:
    """Return whether a value passes a filter. It must be equal to the filter's value, or pass the
    filter's operators.
    """
    if not (isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted)):
        return bool(value == wanted)
    try:
        return all(COMPARED[name](value, operand) for name, operand in wanted.items())
    except TypeError:  # not comparable
        return False
    except KeyError as error:
        raise ValueError(f"There is no operator {error.args[0]}.") from error


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
