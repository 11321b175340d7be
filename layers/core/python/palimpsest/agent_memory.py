"""The façade for Python programs: the memory of one user. By itself it runs the whole service in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from palimpsest.api.guards import json_object
from palimpsest.api.problems import naming, refusal
from palimpsest.api.resources.context import ContextRequest, PruneRequest
from palimpsest.api.resources.graph.shapes import (
    EntityChange,
    GraphQuery,
    NewEntities,
    NewRelationships,
    RelationshipChange,
)
from palimpsest.api.resources.ingest import IngestRequest
from palimpsest.api.resources.memories.filters import Filter as FilterBody
from palimpsest.api.resources.memories.shapes import ForgetRequest, MemoryChange, NewMemories, change, statement
from palimpsest.api.resources.messages import AppendRequest, Redaction
from palimpsest.api.resources.preferences import NewPreferences
from palimpsest.api.resources.recall import RecallBody, SearchBody
from palimpsest.api.resources.sessions.shapes import SessionChange
from palimpsest.api.resources.static_facts import StaticFactBody
from palimpsest.api.resources.tools import ToolCallBody
from palimpsest.api.resources.vectors import VectorSearch, VectorsToStore
from palimpsest.bootstrap.in_process import in_process
from palimpsest.bootstrap.memories import MemoriesApp
from palimpsest.bootstrap.sessions import SessionsApp
from palimpsest.context.blocks.block import Conversation
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vector import VectorMemory, similar_messages
from palimpsest.context.read import Context
from palimpsest.conversations.append import Appended, Extract
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.lifecycle import check_owner
from palimpsest.conversations.manage import Session
from palimpsest.conversations.messages import Chat, Message
from palimpsest.conversations.overflow.arm import WhyNot
from palimpsest.conversations.session import Compaction
from palimpsest.errors import BadRequest, Conflict, Unavailable
from palimpsest.extraction.ingest import MAX_TRANSCRIPT, Ingested
from palimpsest.extraction.provider import ChatHistoryProvider, newest
from palimpsest.graph.manage import ManageGraph
from palimpsest.graph.ports import Rows
from palimpsest.graph.query import QueryGraph
from palimpsest.graph.read import Around, Direction
from palimpsest.graph.things import Entity, Relationship
from palimpsest.jobs.job import Job
from palimpsest.memory.filters import Filter
from palimpsest.memory.preferences import ManagePreferences, key_of
from palimpsest.memory.records import Record, Version
from palimpsest.memory.statements import Remembered
from palimpsest.models.ports import Embedder, LanguageModel, Reranker
from palimpsest.recall.ranking import FoundMemory
from palimpsest.recall.recall import Recalled
from palimpsest.recall.tool import TOOLS, ToolFormat, definition, tool_named
from palimpsest.scope import Scope, SessionScope, UserScope, checked_id
from palimpsest.search.documents import MESSAGE_VERSION, gone, message_key
from palimpsest.stores import OwnStores
from palimpsest.tenants.ports import StaticFact
from palimpsest.usage.report import By, Sum
from palimpsest.vectors.manage import DEFAULT_NAMESPACE, ManageVectors, Match
from palimpsest.vectors.ports import Namespace

TENANT = Scope("local")

PAGE = 100
LONGEST_WAIT = 20.0  # seconds

Body = TypeVar("Body", bound=BaseModel)
Row = TypeVar("Row")
Said = str | Mapping[str, Any]


class PreferencesOfUser:
    """The preferences of one user: JSON values of at most 16 KB under keys, at most 500, kept until they are deleted.

    Contexts show them and recall finds them.
    """

    def __init__(self, preferences: ManagePreferences, user: UserScope, work: Callable[[], None]) -> None:
        self._preferences, self._user, self._work = preferences, user, work

    def set(self, key: str, value: Any) -> None:
        """Set the value under this key. Raises `BadRequest`, `Unprocessable`, `Conflict` (`too_many_preferences`)."""
        body = _read(NewPreferences, preferences={checked_id(key, field="key"): value})
        self._preferences.set(self._user, body.preferences)
        self._work()

    def get(self, key: str) -> Any:
        """The value under this key. Raises `NotFound`."""
        return self._preferences.read(self._user, key).data

    def all(self) -> dict[str, Any]:
        """Every value by its key."""
        return {key_of(record.topic_key or ""): record.data for record in self._preferences.every(self._user)}

    def delete(self, key: str) -> None:
        """Remove a preference with all its versions. Raises `NotFound`."""
        self._preferences.delete(self._user, key)
        self._work()


class VectorsOfUser:
    """Vectors of one user under ids of the caller's own, in namespaces. Fields are those of the API."""

    def __init__(self, vectors: ManageVectors, user: UserScope) -> None:
        self._vectors, self._user = vectors, user

    def upsert(self, vectors: Sequence[Mapping[str, Any]], *, namespace: str = DEFAULT_NAMESPACE) -> Namespace:
        """Store 1 to 100 vectors (`id`, `values` or `text`, `metadata`), replacing those with the same ids."""
        asked = _read(VectorsToStore, vectors=vectors, namespace=namespace)
        return self._vectors.upsert(self._user, asked.namespace, asked.read())

    def search(self, *, namespace: str = DEFAULT_NAMESPACE, **asked: Any) -> tuple[Match, ...]:
        """The nearest vectors to `values` or `text` (`top_k`, `filter` of metadata), nearest first."""
        body = _read(VectorSearch, namespace=namespace, **asked)
        return self._vectors.search(
            self._user, body.namespace, values=body.values, text=body.text, metadata=body.filter, k=body.top_k
        )

    def delete(self, *ids: str, namespace: str = DEFAULT_NAMESPACE) -> int:
        """Delete vectors by id, or all of the namespace; return how many there were."""
        return self._vectors.delete(self._user, namespace, ids or None)

    def stats(self) -> tuple[Namespace, ...]:
        """The namespaces that hold vectors."""
        return self._vectors.stats(self._user)


class GraphOfUser:
    """Entities of one user and the relationships between them. Fields are those of the API."""

    def __init__(self, graph: ManageGraph, query: QueryGraph, user: UserScope) -> None:
        self._graph, self._query, self._user = graph, query, user

    def put_entities(self, *entities: Mapping[str, Any]) -> list[Entity]:
        """Store 1 to 30 entities (`type`, `name`, `id`, `properties` …), each as the current version under its id."""
        asked = _read(NewEntities, entities=entities)
        return [one for one, _ in self._graph.put_entities(self._user, [each.read() for each in asked.entities])]

    def put_relationships(self, *relationships: Mapping[str, Any]) -> list[Relationship]:
        """Store 1 to 30 relationships (`type`, `from`, `to`, `single`, `id` …) between entities that are there."""
        asked = _read(NewRelationships, relationships=relationships)
        given = [each.read() for each in asked.relationships]
        return [one for one, _ in self._graph.put_relationships(self._user, given)]

    def entities(self, *, type: str | None = None, name: str | None = None) -> list[Entity]:  # noqa: A002 - as the API
        """The entities by id: of that type, and whose name holds that text."""
        return self._graph.entities(self._user, kind=type, name=name)

    def relationships(self, *, type: str | None = None) -> list[Relationship]:  # noqa: A002 - as the API calls it
        """The relationships by id."""
        return self._graph.relationships(self._user, kind=type)

    def change_entity(self, entity_id: str, **changes: Any) -> Entity:
        """Set `name`, `valid_to` or some `properties` of an entity in a new version. Raises `NotFound`."""
        return self._graph.change_entity(self._user, entity_id, _read(EntityChange, **changes).read())

    def change_relationship(self, relationship_id: str, **changes: Any) -> Relationship:
        """Set `valid_to` or some `properties` of a relationship in a new version. Raises `NotFound`."""
        asked = _read(RelationshipChange, **changes).read()
        return self._graph.change_relationship(self._user, relationship_id, asked)

    def delete_entity(self, entity_id: str) -> None:
        """Remove an entity with its versions and relationships. Raises `NotFound`."""
        self._graph.delete_entity(self._user, entity_id)

    def delete_relationship(self, relationship_id: str) -> None:
        """Remove a relationship with its versions. Raises `NotFound`."""
        self._graph.delete_relationship(self._user, relationship_id)

    def query(self, cypher: str, **parameters: Any) -> Rows:
        """What a query in Cypher that only reads returns over what holds now; `$userId` is the user's id. Raises
        `Unprocessable`. Needs `pip install palimpsest[graph]`.
        """
        asked = _read(GraphQuery, cypher=cypher, parameters=parameters)
        return self._query(self._user, asked.cypher, asked.parameters)

    def neighbors(
        self,
        entity_id: str | None = None,
        *,
        depth: int = 1,
        direction: Direction = "both",
        types: Sequence[str] = (),
        limit: int = 100,
    ) -> Around:
        """What holds within 1 to 4 steps of an entity, or of the user. Raises `NotFound`."""
        name = self._user.user if entity_id is None else entity_id
        return self._graph.neighbors(
            self._user, name, depth=depth, direction=direction, types=frozenset(types), most=limit
        )


def _no_work() -> None:
    """Nothing is left to do here: deployed queues and functions do it."""


class AgentMemory:
    """The memory of one user: conversations, each of which fits its model's window, and what was learned from them.

    `AgentMemory()` holds everything in this process. Each call finishes the work it causes (summaries, extraction,
    indexing) before it returns. Fields have the names, limits and meaning that they have in the API. Errors are those
    of `palimpsest.errors`, raised before anything is written: `BadRequest`, `Unprocessable`, `TooLarge`, `NotFound`,
    `Conflict` (`owner_mismatch` for a session of another user or agent), `Unavailable` (try again).

    Implements `MemoryBlock`, with a whole context as the result of `get`. Its blocks are `static`, `extractive` and
    `vector`.
    """

    def __init__(
        self,
        *,
        user: str = "user",
        agent: str | None = None,
        memory: Mapping[str, Any] | None = None,
        static_facts: Sequence[str] = (),
        chat: LanguageModel | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        stores: OwnStores | None = None,
    ) -> None:
        """`memory` is the configuration that sessions begin with; unless it names `blocks`, it has all blocks that can
        be read here. Without a `chat` model summaries and memories consist of the conversation's own words. Without an
        `embedder` nothing is searched by meaning; a block that would need it is named in `degraded`. A `reranker` puts
        what a recall found in order. `stores` are of your own (`palimpsest.stores`), in place of those in memory; the
        search index is made anew from what their feed gives.
        """
        blocks = [{"type": "static"}, {"type": "extractive"}, *([{"type": "vector"}] if embedder else [])]
        config = _json_object({"blocks": blocks, **(memory or {})})
        with naming("memory"):
            parsed(config)
        owner = TENANT.user(user)
        here = in_process(
            TENANT, memory=config, chat=chat, embedder=embedder, reranker=reranker, own=stores, user=owner
        )
        self._begin(here.sessions, here.memories, owner, agent, here.work)
        here.work()
        for number, fact in enumerate(static_facts, 1):
            here.memories.facts.put(TENANT, f"fact-{number}", content=fact)

    @classmethod
    def of(
        cls, sessions: SessionsApp, memories: MemoriesApp, *, tenant: str, user: str, agent: str | None = None
    ) -> Self:
        """Make one over use cases that are wired already, to DynamoDB for instance. The work they cause is done by the
        workers behind their stores: for `sessions_app()` and `memories_app()` of `palimpsest.bootstrap`, by the
        deployed queues and functions.
        """
        made = cls.__new__(cls)
        made._begin(sessions, memories, Scope(tenant).user(user), agent, _no_work)  # noqa: SLF001 - its own
        return made

    def _begin(
        self, sessions: SessionsApp, memories: MemoriesApp, user: UserScope, agent: str | None, work: Callable[[], None]
    ) -> None:
        self._sessions, self._memories = sessions, memories
        self._user = user
        self._agent = None if agent is None else checked_id(agent, field="agent_id")
        self._work = work
        self.preferences = PreferencesOfUser(memories.preferences, user, work)
        self.vectors = VectorsOfUser(memories.vectors, user)
        self.graph = GraphOfUser(memories.graph, memories.query_graph, user)
        stores = memories.stores
        self.static = StaticMemory(stores.facts)
        self.extractive = ExtractiveMemory(
            stores.memories, memories.clock, chat=memories.models.selector, update=self._learn, delete=self._forget
        )
        self.vector = VectorMemory(
            similar_messages(lambda: memories.search), update=self.update, delete=self._drop_vectors
        )

    def append(
        self, session: str | Conversation, *messages: Said, key: str | None = None, if_last: int | None = None
    ) -> Appended:
        """Store 1 to 50 messages, all or none: chat messages as `openai` has them, or texts, which are the user's. With
        `if_last` only if that is the newest message's sequence number (0: there is none), else `Conflict`.

        Begins the session if there is none. A repeated call with the same `key` returns the first result again.
        """
        return self._append(self._scope(session), messages, key=key, if_last=if_last)

    def context(
        self,
        session: str | Conversation,
        message: Said | None = None,
        *,
        max_tokens: int | None = None,
        model: str | None = None,
    ) -> Context:
        """Return what a model sees next: `messages` ready to send, never over the budget (`max_tokens`); `memory.text`
        is what the blocks brought, as `<memory>…</memory>`; `degraded` names the blocks that could not be read.

        `message` is the user's, about to be sent: its tokens count, similar messages are searched, and it is not
        stored. Raises `BudgetTooSmall`.
        """
        asked = _read(ContextRequest, message=message, max_tokens=max_tokens, model=model)
        found = self._memories.context(
            self._scope(session), given=asked.message, max_tokens=asked.max_tokens, model=asked.model
        )
        check_owner(found.head, user=self._user.user, agent=self._agent)
        return found

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        max_tokens: int | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - as the API calls it
        as_of: str | None = None,
        known_at: str | None = None,
        answer: bool = False,
        session: str | None = None,
        rerank: bool = True,
    ) -> Recalled:
        """Return the `memories` of all sessions that answer the query, best first, with their sources; none where
        nothing comes near it, and nothing that the window of the asking `session` holds. With `answer` also an answer
        that rests on them. Times are texts in RFC 3339.
        """
        asked = _read(
            RecallBody,
            query=query,
            k=k,
            max_tokens=max_tokens,
            filter=filter,
            as_of=as_of,
            known_at=known_at,
            answer=answer,
            session_id=session,
            rerank=rerank,
        )
        return self._memories.recall(self._user, asked.asked())

    def ingest(self, messages: Sequence[Said], *, session: str | None = None, store: bool = True) -> Ingested:
        """Store a transcript of 1 to 1000 messages as a session's history and have memories extracted from it.

        A transcript that has grown may be sent again: only what is new is stored. Raises `Conflict`
        (`transcript_diverged`) if it contradicts the stored history. Without `store` memories are extracted from what
        is new and no message is stored; then each has an `id`, and the session is named.
        """
        given = [_message(each) for each in messages]
        asked = _read(IngestRequest, messages=given, session_id=session, store=store)
        ingest: Callable[..., Ingested] = self._memories.ingest if asked.store else self._memories.ingest_outside
        done = ingest(self._user, asked.messages, session_id=asked.session_id, agent=self._agent)
        self._work()
        return done

    def learn(self, session: str, history: ChatHistoryProvider) -> int:
        """Have memories extracted from what is new in a history that stays where it is; return how many messages were.
        Reads no more of it than that, where it has `load_recent`. Messages without an `id` go by their place.
        """

        def has_met(message: Mapping[str, Any]) -> bool:
            asked = _read(IngestRequest, messages=[message])
            return not self._memories.ingest_outside.unmet(self._user, asked.messages, session_id=session)

        found = newest(history, checked_id(session, field="session_id"), has_met=has_met)
        parts = [found[start : start + MAX_TRANSCRIPT] for start in range(0, len(found), MAX_TRANSCRIPT)]
        return sum(self.ingest(part, session=session, store=False).appended for part in parts)

    def remember(self, *memories: Said) -> tuple[Remembered, ...]:
        """Save 1 to 30 memories: texts, which become facts, or fields as in the API (`type`, `content`, `topic_key` …).

        The outcome of each is `created` (`displaced` is what it replaced), `updated` (a stored one got these fields) or
        `unchanged`.
        """
        given = [{"type": "fact", "content": each} if isinstance(each, str) else each for each in memories]
        asked = _read(NewMemories, memories=[{"agent_id": self._agent, **each} for each in given])
        asked.check_embeddings(self._memories.stores.index.space)
        made = self._memories.remember(self._user, [statement(each) for each in asked.memories])
        self._work()
        return made

    def end(self, session: str | Conversation) -> Session:
        """Mark the session ended and have memories extracted from all of it; the next append opens it again."""
        ended = self._memories.manage.end(self.conversation(session).scope)[0]
        self._work()
        return ended

    def prune(self, session: str | Conversation, *, strategy: str, max_tokens: int | None = None) -> WhyNot | None:
        """Make room in the window: `fifo` drops the oldest turns, `summarize` replaces all but the recent turns by a
        summary, `semantic` keeps the recent turns and those that matter most to the user's newest message. Return why
        nothing was done, None if it was. What leaves the window stays in the history.
        """
        asked = _read(PruneRequest, strategy=strategy, max_tokens=max_tokens)
        scope = self.conversation(session).scope
        requested = self._memories.prune(scope, strategy=asked.strategy, max_tokens=asked.max_tokens)
        self._work()
        return requested.why_not

    def history(self, session: str | Conversation) -> Iterator[Message]:
        """Every message of the session, oldest first, whatever has left the window since."""
        scope, history = self.conversation(session).scope, self._sessions.history
        return _pages(lambda after: history.messages(scope, limit=PAGE, after=after))

    def redact(self, session: str | Conversation, seq: int, *, content: str) -> None:
        """Replace what message `seq` says, and take back the summaries and memories that were made of it; its place and
        its id stay. Raises `NotFound`.
        """
        asked = _read(Redaction, content=content)
        self._sessions.redact(self.conversation(session).scope, seq, content=asked.content)
        self._work()

    def configure(self, session: str | Conversation, **fields: Any) -> Session:
        """Change `memory`, `system` or `metadata` of a session, as the API's PATCH does; None removes."""
        body = _checked(SessionChange, fields)
        clears = "system" in fields and fields["system"] is None
        with naming("memory"):
            return self._memories.manage.patch(
                self.conversation(session).scope, wanted=body.wanted(), clear_system=clears
            )

    def sessions(self) -> Iterator[Session]:
        """The user's sessions, the newest first."""
        listed = partial(self._memories.manage.listed, self._user.owner, user=self._user.user, agent=None, status=None)
        return _pages(lambda after: listed(limit=PAGE, after=after, newest_first=True))

    def extract(self, session: str | Conversation) -> str | None:
        """Have memories extracted from what came after the last extraction; return the job's id, if there was any."""
        requested = self._memories.ingest.request(self.conversation(session).scope)
        self._work()
        return requested.job_id

    def empty_window(self, session: str | Conversation) -> None:
        """Begin the next context without messages; the history stays."""
        self._sessions.history.empty(self.conversation(session).scope)

    def withdraw(self, session: str | Conversation, seq: int, *, if_last: int | None = None) -> None:
        """Remove every message from number `seq` on, with `if_last` only while that is the newest: else `Conflict`."""
        self._sessions.history.withdraw(self.conversation(session).scope, first=seq, if_last=if_last)
        self._work()

    def erase(self) -> None:
        """Remove everything of the user, for good."""
        self._memories.erase(self._user)
        self._work()

    def compactions(self, session: str | Conversation) -> Iterator[Compaction]:
        """What has left the window, each part with its summary, oldest first; its number is `last`."""
        scope, history = self.conversation(session).scope, self._sessions.history
        return _pages(lambda after: history.compactions(scope, limit=PAGE, after=after))

    def unfold(self, session: str | Conversation, n: int) -> Iterator[Message]:
        """The messages that compaction `n` took out of the window. Raises `NotFound`."""
        scope, history = self.conversation(session).scope, self._sessions.history
        return _pages(lambda after: history.unfold(scope, n, limit=PAGE, after=after))

    def memories(self, **limits: Any) -> Iterator[Record]:
        """The user's current memories, newest first, within the limits of the API's filter (`types`, `subject` …)."""
        return self._memories.manage_memories.every(self._user, _read(FilterBody, **limits).read())

    def memory(self, memory_id: str) -> Version:
        """A memory with its place among the versions of its topic. Raises `NotFound`."""
        return self._memories.manage_memories.read(self._user, memory_id)

    def delete_memory(self, memory_id: str) -> None:
        """Remove one version; the topic of the current one has none then. Raises `NotFound`."""
        self._memories.manage_memories.delete(self._user, memory_id)
        self._work()

    def search(self, query: str | None = None, *, mode: str, **asked: Any) -> tuple[FoundMemory, ...]:
        """What one retriever finds: `keyword`, or `vector` by the query's meaning or an `embedding` (`k`, `filter`)."""
        body = _read(SearchBody, query=query, mode=mode, **asked)
        return self._memories.search(
            self._user, body.query or "", mode=body.mode, k=body.k, where=body.where(), vector=body.embedding
        )

    def versions(self, memory_id: str) -> tuple[Version, ...]:
        """Every version of a memory's topic, newest first. Raises `NotFound`."""
        return self._memories.manage_memories.history(self._user, memory_id)

    def change(self, memory_id: str, **fields: Any) -> Record:
        """Change fields of a current memory, as the API's PATCH does (`content`, `importance`, `data` …); another
        `content` is a new version, with another id. Raises `NotFound`, `Conflict` (`not_current`, `is_preference`).
        """
        record = self._memories.manage_memories.patch(self._user, memory_id, change(_checked(MemoryChange, fields)))
        self._work()
        return record

    def revert(self, memory_id: str) -> Record:
        """Make this version's content current again, as a new version. Raises `NotFound`, `Conflict`."""
        record = self._memories.manage_memories.revert(self._user, memory_id)
        self._work()
        return record

    def forget(self, **limits: Any) -> tuple[str, ...]:
        """Remove the current memories that match a filter of the API, which has at least one limit, with all versions
        of their topics; return the ids of those that matched.
        """
        where = _read(ForgetRequest, filter=limits).filter.read()
        ids = self._memories.manage_memories.matching(self._user, where)
        self._memories.forget(self._user, where)
        self._work()
        return ids

    def export(self) -> str:
        """Everything that is stored of the user, as lines of JSON with ids and all versions: docs/export.md. Raises
        `Unavailable` if that is not done within 20 seconds: then export over the API.
        """
        job_id = self._memories.export(self._user.owner, user=self._user.user)
        return self._memories.export.text(self._ended(job_id))

    def import_(self, lines: str) -> Mapping[str, int]:
        """Store what an export holds under the same ids; return how much was `restored`, was `there` already, and
        `conflicts` with something else in its place. Raises `Unprocessable` (`invalid_import`) that names the line.
        """
        return self._ended(self._memories.imports.of_text(self._user.owner, lines, user=self._user.user)).result

    def _ended(self, job_id: str) -> Job:
        self._work()
        job = self._memories.read_job(self._user.owner, job_id, wait=LONGEST_WAIT)
        if job.state != "done":
            raise Unavailable("The work takes longer than a call may.", code="not_done_yet")
        return job

    def tools(self, form: ToolFormat = "openai") -> list[Mapping[str, Any]]:
        """The definitions of the tools that a model may be given: to search this memory, to remember, to forget."""
        return [definition(tool, form) for tool in TOOLS.values()]

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
        session: str | None = None,
    ) -> Chat:
        """Answer a model's call of a tool with a tool message that can be appended as it is; with the asking `session`
        a search repeats nothing that its window holds. Raises `NotFound` for an unknown tool or session.
        """
        asked = _read(ToolCallBody, arguments=arguments, tool_call_id=tool_call_id, session_id=session)
        message = self._memories.tools(
            tool_named(name), self._user, asked.arguments, tool_call_id=asked.tool_call_id, session=asked.session_id
        )
        self._work()
        return message

    def static_facts(self) -> tuple[StaticFact, ...]:
        """What is stated for all users, by id; no conversation changes it."""
        return self._memories.facts.listed(self._user.owner)

    def put_static_fact(self, fact_id: str, content: str, *, agent: str | None = None) -> None:
        """State it from now on in the context of every session with a static block, or only in those of `agent`."""
        asked = _read(StaticFactBody, content=content, agent_id=agent)
        name = checked_id(fact_id, field="fact_id")
        self._memories.facts.put(self._user.owner, name, content=asked.content, agent=asked.agent_id)

    def delete_static_fact(self, fact_id: str) -> None:
        """State it no more. Raises `NotFound`."""
        self._memories.facts.delete(self._user.owner, fact_id)

    def get(self, session: str | Conversation, message: str | None = None) -> Context:
        """The same as `context`."""
        return self.context(session, message)

    def update(self, session: str | Conversation, message: str) -> None:
        """Store the message as the user's."""
        self._append(self._scope(session), [message])

    def delete(self, session: str | Conversation) -> None:
        """Remove the session, everything in it, and the memories that have no other source."""
        self._memories.manage.delete(self.conversation(session).scope)
        self._work()

    def conversation(self, session: str | Conversation) -> Conversation:
        """Return an existing session in the form that its blocks take. Raises `NotFound`."""
        scope = self._scope(session)
        shown = self._memories.manage.read(scope)
        check_owner(shown.head, user=self._user.user, agent=self._agent)
        return Conversation(scope, shown.head.user, parsed(dict(shown.settings.memory)), shown.head.agent)

    def _append(
        self,
        scope: SessionScope,
        messages: Sequence[Said],
        *,
        key: str | None = None,
        if_last: int | None = None,
        extract: Extract = "auto",
    ) -> Appended:
        asked = _read(AppendRequest, messages=[_message(each) for each in messages], if_last=if_last)
        done = self._sessions.append(
            scope,
            asked.messages,
            user=self._user.user,
            agent=self._agent,
            key=None if key is None else checked_id(key, field="key"),
            allow_repeat=True,  # no answer is lost on its way within a process: "yes" may be said twice
            if_last=asked.if_last,
            extract=extract,
        )
        self._work()
        return done

    def usage(self, *, first: date | None = None, last: date | None = None, by: By = "tenant") -> tuple[Sum, ...]:
        """What the user has used from one day (None: the first of the month) through another (None: today): messages,
        tokens, bytes, model calls and their cost. Raises `Unprocessable` (`invalid_period`).
        """
        return self._sessions.usage(self._user.owner, first=first, last=last, by=by, user=self._user.user).sums

    def _learn(self, session: Conversation, message: str) -> None:
        self._append(self._scope(session), [message], extract="now")

    def _forget(self, session: Conversation) -> None:
        self._memories.forget(self._user, Filter(session=self._scope(session).session))
        self._work()

    def _drop_vectors(self, session: Conversation) -> None:
        scope = self.conversation(session).scope
        keys = [message_key(scope.session, message.seq) for message in self.history(session)]
        for start in range(0, len(keys), PAGE):
            dropped = [gone(key, version=MESSAGE_VERSION) for key in keys[start : start + PAGE]]
            if self._memories.stores.index.write(self._user, dropped):
                raise Unavailable("The index did not take every removal.", code="vector")

    def _scope(self, session: str | Conversation) -> SessionScope:
        if isinstance(session, str):
            return self._user.owner.session(session)
        if session.owner != self._user:
            raise Conflict("The session belongs to another user.", code="owner_mismatch")
        return session.scope


def _pages(page: Callable[[Any], tuple[Sequence[Row], Any]]) -> Iterator[Row]:
    after = None
    while True:
        rows, after = page(after)
        yield from rows
        if after is None:
            return


def _message(said: Said) -> Said:
    return {"role": "user", "content": said} if isinstance(said, str) else said


def _read(kind: type[Body], **said: Any) -> Body:
    """Check the fields as the API checks a request; what is None is not given. Raises its errors."""
    return _checked(kind, {k: value for k, value in said.items() if value is not None or k not in kind.model_fields})


def _checked(kind: type[Body], said: Mapping[str, Any]) -> Body:
    try:
        return kind.model_validate(_json_object(said))
    except ValidationError as error:
        raise refusal([{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]) from error


def _json_object(said: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(said, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("This can't be written as JSON.", code="invalid_json") from error
    return json_object(text)
