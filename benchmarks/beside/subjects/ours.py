"""Palimpsest: the handler of the function `sessions`, called with events. A call that is answered
with 503 is repeated with the same key.
"""

import json
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from benchmarks.beside.subjects.harness import Said, main
from benchmarks.service import Function, body_of, event

TRIES = 5


@cache
def _function(environment: str) -> Function:
    function = Function(json.loads(environment))
    function.client.meta.events.register(
        "provide-client-params.dynamodb.TransactWriteItems", _count
    )
    return function


_CALLS = Counter[str]()


def _count(model: Any, **_: Any) -> None:
    _CALLS[model.name] += 1


class Subject:
    """Palimpsest as a subject. `place` holds the function's environment variables."""

    batch = 50

    def __init__(self, place: str) -> None:
        self._function = _function(place)

    def append(self, session: str, messages: Sequence[Said]) -> None:
        body = {
            "user_id": "sarah",
            "messages": [{"role": role, "content": text} for role, text in messages],
        }
        request = event("POST", f"/v1/sessions/{session}/messages", body, key=uuid.uuid4().hex)
        for _ in range(TRIES):
            answer = self._function(request)
            if answer["statusCode"] != 503:
                break
            time.sleep(1)
        body_of(answer)

    def attempts(self) -> int:
        """Return how many transactions this process has tried. Transactions that were lost to
        another writer count too.
        """
        return _CALLS["TransactWriteItems"]

    def newest(self, session: str, count: int) -> Sequence[str]:
        context = body_of(self._function(event("GET", f"/v1/sessions/{session}/context")))
        return [message["content"] for message in context["messages"]][-count:]

    def everything(self, session: str) -> Sequence[str]:
        """Return the texts of all messages, which are read page by page."""
        texts: list[str] = []
        query: dict[str, str] = {"limit": "100"}
        while True:
            request = event("GET", f"/v1/sessions/{session}/messages")
            page = body_of(self._function({**request, "queryStringParameters": query}))
            texts += [message["content"] for message in page["messages"]]
            if page["next_cursor"] is None:
                return texts
            query = {"limit": "100", "cursor": page["next_cursor"]}

    def stored_bytes(self, session: str) -> int:
        return 0


if __name__ == "__main__":
    main(Subject)
