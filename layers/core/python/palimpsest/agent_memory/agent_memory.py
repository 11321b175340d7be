"""`AgentMemory`: the memory of one user, for Python programs. By default the whole service runs in
this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from palimpsest.agent_memory.checks import PAGE, json_of
from palimpsest.agent_memory.memories import UserMemories
from palimpsest.agent_memory.parts import GraphOfUser, PreferencesOfUser, VectorsOfUser
from palimpsest.api.problems import naming
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.ports import Conversation
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory, similar_messages
from palimpsest.context.read import SessionContext
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.message import message_key
from palimpsest.errors import BadRequest, Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.store import MemoryStore
from palimpsest.models.ports import Embedder, LanguageModel, Reranker
from palimpsest.scope import Scope, UserScope, checked_id
from palimpsest.search.documents import gone, message_version
from palimpsest.stores import OwnStores
from palimpsest.wiring.in_process import in_process
from palimpsest.wiring.service import Service

TENANT = Scope("local")


def _no_work() -> None:
    """Nothing is left to do here: deployed queues and functions do it."""


class AgentMemory(UserMemories):
    """The memory of one user: conversations, each of which fits its model's window, and what was
    learned from them.

    `AgentMemory()` holds everything in this process. Each call finishes the work it causes
    (summaries, extraction, indexing) before it returns. Fields have the names, limits and meaning
    that they have in the API. Errors are those of `palimpsest.errors`, raised before anything is
    written: `BadRequest`, `Unprocessable`, `TooLarge`, `NotFound`, `Conflict` (`owner_mismatch` for
    a session of another user or agent), `Unavailable` (try again).

    Implements `MemoryBlock`, with a whole context as the result of `get`. Its blocks are `static`,
    `extractive` and `vector`.
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
        stores: OwnStores | None = None,
        memory_store: MemoryStore | None = None,
    ) -> None:
        """`memory` is the configuration that sessions begin with; unless it names `blocks`, it has
        all blocks that can be read here. Without a `chat` model summaries and memories consist of
        the conversation's own words. Without an `embedder` nothing is searched by meaning; a block
        that would need it is named in `degraded`. A `reranker` puts what a recall found in order.
        `stores` are of your own (`palimpsest.stores`), in place of those in memory; the search
        index is made anew from what their feed gives. A `memory_store` is of your own too, and
        takes the place of long-term memory alone: memories are saved there, and recall and contexts
        read them there. It has no lists and no versions, so what needs these raises `Unprocessable`
        (`not_in_memory_store`).
        """
        if stores is not None and memory_store is not None:
            raise BadRequest(
                "Long-term memory has one place: give stores, or a memory_store.", code="two_stores"
            )
        blocks = [
            {"type": "static"},
            {"type": "extractive"},
            *([{"type": "vector"}] if embedder else []),
        ]
        config = json_of({"blocks": blocks, **(memory or {})})
        with naming("memory"):
            parsed(config)
        owner = TENANT.user(user)
        here = in_process(
            TENANT,
            memory=config,
            chat=chat,
            embedder=embedder,
            reranker=reranker,
            own=stores,
            user=owner,
            memory_store=memory_store,
        )
        self._begin(here.service, owner, agent, here.work)
        here.work()
        for number, fact in enumerate(static_facts, 1):
            here.service.facts.put(TENANT, f"fact-{number}", content=fact)

    @classmethod
    def of(cls, service: Service, *, tenant: str, user: str, agent: str | None = None) -> Self:
        """Make one over a service that is wired already, to DynamoDB for instance. The work that it
        causes is done by the workers of its stores: for `memories_service()` of
        `palimpsest.wiring.deployed`, by the deployed queues and functions.
        """
        made = cls.__new__(cls)
        made._begin(service, Scope(tenant).user(user), agent, _no_work)  # noqa: SLF001 - its own
        return made

    def _begin(
        self, service: Service, user: UserScope, agent: str | None, work: Callable[[], None]
    ) -> None:
        self._service = service
        self._user = user
        self._agent = None if agent is None else checked_id(agent, field="agent_id")
        self._work = work
        self.preferences = PreferencesOfUser(service.preferences, user, work)
        self.vectors = VectorsOfUser(service.vectors, user)
        self.graph = GraphOfUser(service.graph, service.query_graph, user)
        stores = service.stores
        self.static = StaticMemory(stores.facts)
        extractive = service.context.blocks.extractive or ExtractiveMemory(
            stores.memories, service.clock
        )
        self.extractive = extractive.changing(update=self._learn, delete=self._forget)
        self.vector = VectorMemory(
            similar_messages(lambda: service.search), update=self.update, delete=self._drop_vectors
        )

    def get(self, session: str | Conversation, message: str | None = None) -> SessionContext:
        """The same as `context`."""
        return self.context(session, message)

    def update(self, session: str | Conversation, message: str) -> None:
        """Store the message as the user's."""
        self._append(self._scope(session), [message])

    def _learn(self, session: Conversation, message: str) -> None:
        self._append(self._scope(session), [message], extract="now")

    def _forget(self, session: Conversation) -> None:
        self._service.forget(self._user, MemoryFilter(session=self._scope(session).session))
        self._work()

    def _drop_vectors(self, session: Conversation) -> None:
        scope = self.conversation(session).scope
        version = message_version(self._service.manage.read(scope).head)
        keys = [message_key(scope.session, message.seq) for message in self.history(session)]
        for start in range(0, len(keys), PAGE):
            dropped = [gone(key, version=version) for key in keys[start : start + PAGE]]
            if self._service.index.write(self._user, dropped):
                raise Unavailable("The index did not take every removal.", code="vector")
