"""Measures append and context while the conversation grows: CPU time, consumed units, requests and
bytes, through the handler.
"""

import itertools
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.conversation import BATCH, WINDOW, batches, said
from benchmarks.measure import Cost, cost_of, typical
from benchmarks.meter import Reading, item_bytes, metered
from benchmarks.service import TENANT, Function, Place, body_of, event

FOLDED_AT = 2 * WINDOW  # messages in the window before it is trimmed to half
LIBRARY = ", library"
SAMPLE = 40  # messages whose bytes are looked at


@dataclass(frozen=True, slots=True)
class Sized:
    """The figures of one conversation. `costs` and `readings` are by the name of the call, and
    `bytes_of` is by the kind of item.
    """

    costs: Mapping[str, Cost]
    readings: Mapping[str, Reading]
    bytes_of: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Call:
    """A measured call, and the function that handles its answer (None if the call is not HTTP)."""

    name: str
    run: Callable[[], Any]


class Conversation:
    """A session whose window holds between 20 and 40 messages, however many the session has."""

    def __init__(self, function: Function, size: int, *, weight: int) -> None:
        self.id = f"of-{size}-{weight}"
        self.size = size
        self._function = function
        self._path = f"/v1/sessions/{self.id}"
        self._number = itertools.count(size)
        memory = {
            "strategy": "trim",
            "max_tokens": 3 + FOLDED_AT * weight,
            "max_memory_tokens": WINDOW * weight,
        }
        self._ask(
            "POST", "/v1/sessions", {"session_id": self.id, "user_id": "sarah", "memory": memory}
        )

    def fill(self) -> None:
        for number, batch in enumerate(batches(self.size)):
            messages = [{"role": role, "content": text} for role, text in batch]
            answer = self._ask("POST", f"{self._path}/messages", {"messages": messages})
            if sys.stderr.isatty() and number % 20 == 0:
                print(
                    f"\r  filling: {number * BATCH:,} of {self.size:,}   ",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        if answer["window"]["messages"] != WINDOW:
            raise RuntimeError(f"the window holds {answer['window']['messages']} messages")

    def context(self) -> Call:
        return Call("context", partial(self._function, event("GET", f"{self._path}/context")))

    def library_context(self) -> Call:
        from palimpsest.wiring.deployed import sessions_service

        return Call(f"context{LIBRARY}", partial(sessions_service().context, self._scope))

    def append(self, *, keyed: bool) -> Call:
        """Return an append of the next message. An append that makes room in the window counts as
        another kind of call.
        """
        body, number = self._next()
        request = event(
            "POST", f"{self._path}/messages", body, key=f"key-{number:032d}" if keyed else None
        )
        return Call("append with a key" if keyed else "append", partial(self._function, request))

    def library_append(self) -> Call:
        from palimpsest.conversations.drafts import Draft
        from palimpsest.wiring.deployed import sessions_service

        body, _ = self._next()
        drafts = [Draft(chat=chat) for chat in body["messages"]]
        return Call(f"append{LIBRARY}", partial(sessions_service().append, self._scope, drafts))

    def items(self, prefix: str, *, limit: int) -> list[Any]:
        """Return the newest items of one kind, with all attributes."""
        pages = self._function.client.query(
            TableName=os.environ["SESSIONS_TABLE"], Limit=limit, ScanIndexForward=False,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)",
            ExpressionAttributeValues={":pk": {"S": f"{TENANT}#{self.id}"}, ":kind": {"S": prefix}},
        )  # fmt: skip
        return list(pages["Items"])

    @property
    def _scope(self) -> Any:
        from palimpsest.scope import SessionScope

        return SessionScope(TENANT, self.id)

    def _next(self) -> tuple[dict[str, Any], int]:
        number = next(self._number)
        role, text = said(number)
        return {"messages": [{"role": role, "content": text}]}, number

    def _ask(self, method: str, path: str, body: dict[str, Any]) -> Any:
        return body_of(self._function(event(method, path, body)))


def measured(place: Place, *, sizes: tuple[int, ...], rounds: int) -> dict[int, Sized]:
    """Return the figures of each size. Each size is a session of its own. The calls are made round
    by round over all sessions, so that the machine's other work affects them alike.
    """
    function = Function(place.environment)
    weight = _weight(function)
    talks = [Conversation(function, size, weight=weight) for size in sizes]
    for talk in talks:
        talk.fill()
    contexts = _rounds(talks, _contexts, rounds=rounds, engine=place.engine)
    readings = {talk.size: _readings(function, talk) for talk in talks}
    appends = _rounds(talks, _appends, rounds=rounds, engine=place.engine)
    return {
        talk.size: Sized(
            contexts[talk.size] | appends[talk.size], readings[talk.size], _bytes(talk)
        )
        for talk in talks
    }


def _rounds(
    talks: Sequence[Conversation],
    calls: Callable[[Conversation], Iterator[Call]],
    *,
    rounds: int,
    engine: int,
) -> dict[int, dict[str, Cost]]:
    """Return the typical cost of each call in each conversation."""
    costs: dict[int, dict[str, list[Cost]]] = {talk.size: defaultdict(list) for talk in talks}
    for _ in range(rounds):
        for talk in talks:
            for call in calls(talk):
                answer, cost = cost_of(call.run, engine=engine)
                costs[talk.size][_kind(call, answer)].append(cost)
    return {size: {name: typical(all_) for name, all_ in of.items()} for size, of in costs.items()}


def _weight(function: Function) -> int:
    """Return the tokens of one message."""
    role, text = said(0)
    body = {"user_id": "sarah", "messages": [{"role": role, "content": text}]}
    answer = body_of(function(event("POST", "/v1/sessions/weighing/messages", body)))
    return int(answer["messages"][0]["tokens"])


def _contexts(talk: Conversation) -> Iterator[Call]:
    yield talk.context()
    yield talk.library_context()


def _appends(talk: Conversation) -> Iterator[Call]:
    yield talk.append(keyed=False)
    yield talk.append(keyed=True)
    yield talk.library_append()


def _kind(call: Call, answer: Any) -> str:
    """Return the kind of the call. An append that made room is a kind of its own, because it reads
    the window.
    """
    if call.name.endswith(LIBRARY):
        made_room = getattr(answer, "overflow", None) is not None
        return "library, making room" if made_room else call.name
    return "append, making room" if body_of(answer).get("overflow") else call.name


def _readings(function: Function, talk: Conversation) -> dict[str, Reading]:
    """Return the operations of each call in the database. The window holds 20 messages before and
    after.
    """
    readings = {}
    with metered(function.client) as meter:
        messages = body_of(talk.context().run())["messages"]
        if len(messages) != WINDOW:
            raise RuntimeError(f"the context holds {len(messages)} messages")
        readings["context"] = meter.read()
        for number in range(FOLDED_AT):
            call = talk.append(keyed=number % 2 == 1)
            answer = call.run()
            readings.setdefault(_kind(call, answer), meter.read())
            meter.read()
    return readings


def _bytes(talk: Conversation) -> dict[str, float]:
    """Return the mean bytes of an item of each kind, including keys and attribute names."""
    kinds = {"head": "head", "settings": "settings", "message": "m#", "key": "k#"}
    samples = {kind: talk.items(prefix, limit=SAMPLE) for kind, prefix in kinds.items()}
    return {kind: sum(map(item_bytes, items)) / len(items) for kind, items in samples.items()}
