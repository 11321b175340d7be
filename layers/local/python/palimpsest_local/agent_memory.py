"""`AgentMemory`: the memory of one user for Python programs. By default the whole service runs in
this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from palimpsest.api.problems import naming
from palimpsest.clock import SystemClock
from palimpsest.context.blocks.ports import Conversation
from palimpsest.conversations.configuration import parsed
from palimpsest.errors import BadRequest
from palimpsest.incoming import json_object
from palimpsest.memory.store import MemoryStore
from palimpsest.models.ports import Embedder, LanguageModel, Reranker
from palimpsest.scope import Scope, UserScope, checked_id
from palimpsest.service.service import Service
from palimpsest.stores import OwnStores
from palimpsest_client import Palimpsest
from palimpsest_client.types import Context

from palimpsest_local.blocks import Blocks, name_of
from palimpsest_local.in_process import in_process
from palimpsest_local.memories import UserMemories
from palimpsest_local.parts import GraphOfUser, PreferencesOfUser, VectorsOfUser
from palimpsest_local.stores.state import State
from palimpsest_local.transport import InProcessTransport, WorkingClock

TENANT = Scope("local")
ADDRESS = "http://in-process.invalid"


class AgentMemory(UserMemories):
    """The memory of one user: conversations, each of which fits its model's window, and the
    memories extracted from them.

    `AgentMemory()` holds everything in this process. Each call finishes the work it causes
    (summaries, extraction, indexing) before it returns. `client` is the client of the service in
    this process, and `user` is the client's user. The methods here are short names for their
    methods, with the same arguments, results and errors. Bad input is refused before anything is
    written.

    Implements `MemoryBlock`. The result of `get` is a whole context. The attributes `static`,
    `extractive` and `vector` are its blocks.
    """

    def __init__(
        self,
        *,
        user: str = "user",
        agent: str | None = None,
        memory: Mapping[str, Any] | None = None,
        static_facts: Sequence[Any] = (),
        chat: LanguageModel | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        url: str | None = None,
        system_url: str | None = None,
        stores: OwnStores | None = None,
        memory_store: MemoryStore | None = None,
    ) -> None:
        """`memory` is the configuration with which sessions begin. Unless it names `blocks`, it has
        all blocks that can be read here. Without a `chat` model, summaries and memories consist of
        the conversation's own words. Without an `embedder`, there is no search by meaning, and a
        block that would need it is named in `degraded`. A `reranker` sorts the results of a recall.

        With a `url` of SQLAlchemy, all that is stored is in that database: "sqlite:///memory.db",
        "postgresql+psycopg://…", "mysql+pymysql://…". Several processes may use it. `system_url`
        names another database for the system messages and configurations of sessions. The search
        index is built anew when the memory is made. Needs `pip install palimpsest[sql]`.

        `stores` are your own stores (`palimpsest.stores`), in place of the stores in memory. The
        search index is then built anew from their feed. A `memory_store` is your own store too, but
        replaces only long-term memory. Memories are saved there, and recall and contexts read them
        there. It has no lists and no versions, so methods that need these raise `Invalid`
        (`not_in_memory_store`).

        Raises `palimpsest.errors.PalimpsestError` if the arguments are wrong.
        """
        _check_places(url=url, system_url=system_url, stores=stores, memory_store=memory_store)
        blocks = [{"type": "static"}, {"type": "extractive"}]
        if embedder:
            blocks.append({"type": "vector"})
        config = _json_of({"blocks": blocks, **(memory or {})})
        with naming("memory"):
            parsed(config)
        owner, clock = TENANT.user(user), WorkingClock(SystemClock())
        state = None if url is None else _state_at(url, system_url)
        here = in_process(
            TENANT,
            memory=config,
            chat=chat,
            embedder=embedder,
            reranker=reranker,
            clock=clock,
            own=stores,
            state=state,
            user=owner,
            memory_store=memory_store,
        )
        clock.todo = here.work
        self._begin(here.service, owner, agent, clock.work, state=state)
        clock.work()
        for number, fact in enumerate(static_facts, 1):
            self.put_static_fact(f"fact-{number}", fact)

    def close(self) -> None:
        """Close the connections to the database at `url`, if there is one."""
        if self._state is not None:
            self._state.shelves.close()

    @classmethod
    def of(cls, service: Service, *, tenant: str, user: str, agent: str | None = None) -> Self:
        """Make the memory over a service that is already built, for instance over DynamoDB. The
        workers of that service's stores do the work that calls cause. For `memories_service()` of
        `palimpsest.wiring.deployed`, these are the deployed queues and functions.
        """
        made = cls.__new__(cls)
        made._begin(service, Scope(tenant).user(user), agent, _no_work)  # noqa: SLF001 - its own
        return made

    def _begin(
        self,
        service: Service,
        user: UserScope,
        agent: str | None,
        work: Callable[[], None],
        *,
        state: State | None = None,
    ) -> None:
        self._service = service
        self._state = state
        self._scope = user
        self._agent = None if agent is None else checked_id(agent, field="agent_id")
        transport = InProcessTransport(service, tenant=user.owner, work=work)
        self.client = Palimpsest(ADDRESS, "in-process", transport=transport)
        self.user = self.client.user(user.user)
        self.preferences = PreferencesOfUser(self.user)
        self.vectors = VectorsOfUser(self.user)
        self.graph = GraphOfUser(self.user)
        blocks = Blocks(service, user, update=self._learn, delete=self._forget)
        self.conversation = blocks.conversation
        self.static = blocks.static
        self.extractive = blocks.extractive
        self.vector = blocks.vector(update=self.update)

    def get(self, session: str | Conversation, message: str | None = None) -> Context:
        """Return what `context` returns."""
        return self.context(name_of(session, self._scope), message)

    def update(self, session: str | Conversation, message: str) -> None:
        """Store the message as a message of the user."""
        self.append(name_of(session, self._scope), message)

    def delete(self, session: str | Conversation) -> None:
        """Remove the session, everything in it, and the memories that have no other source."""
        self._mine(name_of(session, self._scope)).delete()

    def _learn(self, session: Conversation, message: str) -> None:
        name = name_of(session, self._scope)
        self.append(name, message)
        self.extract(name)

    def _forget(self, session: Conversation) -> None:
        self.user.forget({"session_id": name_of(session, self._scope)})


def _check_places(
    *,
    url: str | None,
    system_url: str | None,
    stores: OwnStores | None,
    memory_store: MemoryStore | None,
) -> None:
    """Raise `BadRequest` if the arguments name several places for the same data."""
    if stores is not None and memory_store is not None:
        raise BadRequest(
            "Long-term memory has only one place: give stores or a memory_store.", code="two_stores"
        )
    if url is not None and stores is not None:
        raise BadRequest("Data has only one place: give a url or stores.", code="two_stores")
    if system_url is not None and url is None:
        raise BadRequest("A system_url needs a url for all other data.", code="invalid_url")


def _state_at(url: str, system_url: str | None) -> State:
    try:
        from palimpsest_local.sql.stores import state_at
    except ModuleNotFoundError as error:
        raise BadRequest(
            "SQLAlchemy is not installed: pip install 'palimpsest[sql]'.", code="not_installed"
        ) from error
    return state_at(url, system_url=system_url)


def _no_work() -> None:
    """Do nothing, because deployed queues and functions do the work."""


def _json_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(fields, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("The argument can't be written as JSON.", code="invalid_json") from error
    return json_object(text)
