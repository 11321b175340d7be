from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.app import HttpApp, serves
from palimpsest.api.operations import operations_of
from palimpsest.clock import FakeClock
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged
from palimpsest.scope import Scope
from palimpsest.search.embed import Embed

from tests.unit.api.gateway import Client
from tests.unit.conversations.service import ConversationService

OF_MEMORIES = ("/v1/users", "/v1/static-facts", "/v1/tools", "/compat")
"""Paths of which every call goes to the function `memories`, also one that no operation serves."""
MEMORY_OPERATIONS = operations_of("memories")


class WorkingClock(FakeClock):
    """Whoever waits lets the workers work."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.work()


class Service(ConversationService):
    """The functions behind the front door over stores in memory, with the workers behind them.
    There is a search index if there is a `folder` for it; `embedder` and `answerer` are models,
    None while there are none. The extractor finds what is said as `fact[topic]: content`.
    """

    embedder: Any

    def __init__(
        self, folder: Path | None = None, *, models: tuple[str, ...] | None = None
    ) -> None:
        self.waiting = WorkingClock()
        super().__init__(clock=self.waiting, folder=folder, long_term=True, models=models)

    @cached_property
    def of_sessions(self) -> HttpApp:
        return HttpApp(lambda: self.app, operations_of("sessions"))

    @cached_property
    def of_memories(self) -> HttpApp:
        return HttpApp(lambda: self.memories_app, MEMORY_OPERATIONS)

    def handler(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """What the front door does: method and path decide which function answers."""
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        is_memory = path.startswith(OF_MEMORIES) or any(
            serves(operation, method, path) for operation in MEMORY_OPERATIONS
        )
        return (self.of_memories if is_memory else self.of_sessions)(event, context)

    def work_while_waiting(self) -> None:
        self.waiting.work = self._work

    def _work(self) -> None:
        self.drain()
        self.embed(tuple(self.sent_again.changes))

    def brought_up_to_date(self) -> None:
        """The search index says what the tables say."""
        embed = Embed(self.memories, self.sessions, self.index, self.embedder, self.clock)
        assert embed(tuple(self.changes())) == ()

    def changes(self) -> Iterator[Changed]:
        """Everything that is searched, as if it had changed just now."""
        for (tenant, session), partition in self.sessions.state.partitions.items():
            last = partition.head.seq if partition.head else 0
            yield from (MessageChanged(tenant, session, seq) for seq in range(1, last + 1))
        for tenant in {tenant for tenant, _ in self.sessions.state.partitions} | {"acme", "other"}:
            for user in self.memories.users(tenant, limit=100)[0]:
                records = self.memories.listed(Scope(tenant).user(user), limit=100).records
                yield from (RecordChanged(tenant, user, record.id) for record in records)

    def client(self, **who: Any) -> Client:
        return Client(self.handler, **who)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()
