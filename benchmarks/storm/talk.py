"""Users who talk. Each keeps a record of the texts that the service acknowledged."""

from __future__ import annotations

import http.client
import random
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tests.e2e.stack import Client

BUDGET = 600  # tokens of a window
TURNS = 40  # of a session, then the user begins another
PATIENCE = 60  # seconds in which a client tries a call again
WORDS = ("train", "garden", "invoice", "dentist", "router", "recipe", "lesson", "concert")


@dataclass(slots=True)
class Session:
    """One conversation as its client knows it. `acknowledged` are the texts of calls that had an
    answer, `open` those of calls whose fate the client does not know.
    """

    name: str
    acknowledged: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Course:
    """The course of one user. `calls` are the second and the duration of each append that was
    acknowledged, `bad_contexts` what was wrong with contexts.
    """

    user: str
    sessions: list[Session] = field(default_factory=list)
    calls: list[tuple[float, float]] = field(default_factory=list)
    refused: int = 0
    contexts: int = 0
    bad_contexts: list[str] = field(default_factory=list)


def wrong_with(
    context: Mapping[str, Any], budget: int, *, may_be_empty: bool = False
) -> str | None:
    """Return what a chat model would refuse in a context, or None. The context of a session without
    messages is empty.
    """
    messages: Sequence[Any] = context["messages"]
    if not messages and not may_be_empty:
        return "empty"
    if context["tokens"]["total"] > budget:
        return f"{context['tokens']['total']} tokens of {budget}"
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "a result without its call"
            waiting.discard(message["tool_call_id"])
        elif waiting:
            return "a call without its result"
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    return None


class User(threading.Thread):
    """A user who says one thing after the other, and asks for a context in between."""

    def __init__(self, client: Client, name: str, *, until: float, pause: float) -> None:
        super().__init__(name=name)
        self.course = Course(name)
        self._client, self._until, self._pause = client, until, pause
        self._chance = random.Random(name)

    def run(self) -> None:
        while time.time() < self._until:
            session = Session(f"{self.name}-{len(self.course.sessions)}")
            self.course.sessions.append(session)
            memory = {"max_tokens": BUDGET, "keep_recent_turns": 2}
            body = {"session_id": session.name, "user_id": self.name, "memory": memory}
            while self._call("POST", "/v1/sessions", body)[0] == 0:
                # an append would begin the session with the budget of the tenant
                if time.time() >= self._until:
                    return
            for number in range(TURNS):
                if time.time() >= self._until:
                    return
                self._turn(session, number)
                time.sleep(self._chance.expovariate(1 / self._pause))

    def _turn(self, session: Session, number: int) -> None:
        texts, messages = self._messages(session, number)
        body = {"user_id": self.name, "messages": messages}
        begun, key = time.time(), uuid.uuid4().hex
        path = f"/v1/sessions/{session.name}"
        status, _ = self._call("POST", f"{path}/messages", body, key=key)
        if status in (HTTPStatus.OK, HTTPStatus.CREATED):
            session.acknowledged += texts
            self.course.calls.append((begun, time.time() - begun))
        else:
            session.open += texts
        status, context = self._call("GET", f"{path}/context")
        if status == HTTPStatus.OK:
            self.course.contexts += 1
            wrong = wrong_with(context, BUDGET, may_be_empty=not session.acknowledged)
            if wrong is not None:
                self.course.bad_contexts.append(f"{session.name}: {wrong}")

    def _messages(self, session: Session, number: int) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the texts and the messages of one turn. Each text begins with the names of its
        session and turn. Every fourth turn has a call of a tool.
        """
        mark = f"{session.name}/{number}"
        word = self._chance.choice(WORDS)
        question = (
            f"[{mark}q] I went to place-{self._chance.randrange(999)} for the {word}. What now?"
        )
        answer = f"[{mark}a] " + f"The {word} can wait until Monday. " * self._chance.randint(1, 4)
        chats: list[dict[str, Any]] = [{"role": "user", "content": question}]
        if number % 4 == 3:
            call = {
                "id": "call",
                "type": "function",
                "function": {"name": "look", "arguments": "{}"},
            }
            chats.append({"role": "assistant", "content": None, "tool_calls": [call]})
            chats.append({"role": "tool", "tool_call_id": "call", "content": f"[{mark}t] Found."})
        chats.append({"role": "assistant", "content": answer})
        return [str(chat["content"]) for chat in chats if chat["content"]], chats

    def _call(
        self, method: str, path: str, body: object = None, *, key: str = ""
    ) -> tuple[int, Any]:
        """Call with the same key each time until the answer is not a failure."""
        until, wait = time.time() + PATIENCE, 0.2
        headers = {"Idempotency-Key": key} if key else {}
        while True:
            try:
                answer = self._client(method, path, body, headers=headers)
                if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR and answer.status != 429:
                    return answer.status, answer.json
            except (OSError, http.client.HTTPException, ValueError):
                pass  # no answer, so it is asked again
            self.course.refused += 1
            if time.time() > until:
                return 0, None
            time.sleep(wait * self._chance.uniform(0.5, 1.5))
            wait = min(5.0, wait * 2)
