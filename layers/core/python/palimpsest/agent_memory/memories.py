"""The part of `AgentMemory` that is about what is remembered: saved, recalled, changed, forgotten,
exported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from palimpsest.agent_memory.checks import Said, checked, message_of, read
from palimpsest.agent_memory.conversations import Conversations
from palimpsest.api.resources.filters import Filter as FilterBody
from palimpsest.api.resources.memories.shapes import (
    ForgetRequest,
    IngestRequest,
    MemoryChange,
    NewMemories,
    change,
    statement,
)
from palimpsest.api.resources.recall import RecallBody, SearchBody, ToolCallBody
from palimpsest.api.resources.static_facts import StaticFactBody
from palimpsest.api.resources.users import UserNaming
from palimpsest.conversations.message import Chat
from palimpsest.engines.memory_store import StoreIndex
from palimpsest.errors import Unavailable
from palimpsest.extraction.ingest import MAX_TRANSCRIPT, Ingested
from palimpsest.extraction.outside import ChatHistoryProvider, Load, newest
from palimpsest.jobs.job import Job
from palimpsest.memory.decisions import Remembered
from palimpsest.memory.record import Record
from palimpsest.memory.user_names import UserNames
from palimpsest.memory.versions import Version
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.recall import RecallResult
from palimpsest.recall.tool import TOOLS, ToolFormat, definition, tool_named
from palimpsest.scope import checked_id
from palimpsest.tenants.ports import StaticFact
from palimpsest.usage import By, Sum

LONGEST_WAIT = 20.0  # seconds


class Memories(Conversations):
    """What is remembered of the user, by whom it is used, and what that costs."""

    def set_names(self, name: str | None = None, *, aliases: Sequence[str] = ()) -> UserNames:
        """Set the name and aliases of the user in place of those that were set: under these a
        speaker is the user. Return all names that are known.
        """
        body = read(UserNaming, name=name, aliases=list(aliases))
        return self._service.names.set(self._user, name=body.name, aliases=body.aliases)

    def remember(self, *memories: Said) -> tuple[Remembered, ...]:
        """Save 1 to 30 memories: texts, which become facts, or fields as in the API (`type`,
        `content`, `topic_key` …).

        The outcome of each is `created` (`displaced` is what it replaced), `updated` (a stored one
        got these fields) or `unchanged`. Raises `Unavailable` if a `memory_store` did not take it;
        the next call tries that again.
        """
        given = [
            {"type": "fact", "content": each} if isinstance(each, str) else each
            for each in memories
        ]
        asked = read(NewMemories, memories=[{"agent_id": self._agent, **each} for each in given])
        asked.check_embeddings(self._service.index.space)
        made = self._service.remember(self._user, [statement(each) for each in asked.memories])
        self._work()
        index = self._service.index
        if isinstance(index, StoreIndex) and index.failure is not None:
            raise index.failure
        return made

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
        min_score: float | None = None,
    ) -> RecallResult:
        """Return the `memories` of all sessions that answer the query, best first, with their
        sources; none where nothing comes near it, nothing whose score (0..1) is below `min_score`,
        and nothing that the window of the asking `session` holds. With `answer` also an answer that
        rests on them. Times are texts in RFC 3339.
        """
        asked = read(
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
            min_score=min_score,
        )
        return self._service.recall(self._user, asked.asked())

    def search(
        self, query: str | None = None, *, mode: str, **asked: Any
    ) -> tuple[FoundMemory, ...]:
        """What one retriever finds: `keyword`, or `vector` by the query's meaning or an `embedding`
        (`k`, `filter`).
        """
        body = read(SearchBody, query=query, mode=mode, **asked)
        return self._service.search(
            self._user,
            body.query or "",
            mode=body.mode,
            k=body.k,
            where=body.where(),
            vector=body.embedding,
        )

    def ingest(
        self, messages: Sequence[Said], *, session: str | None = None, store: bool = True
    ) -> Ingested:
        """Store a transcript of 1 to 1000 messages as a session's history and have memories
        extracted from it.

        A transcript that has grown may be sent again: only what is new is stored. Raises `Conflict`
        (`transcript_diverged`) if it contradicts the stored history. Without `store` memories are
        extracted from what is new and no message is stored; then each has an `id`, and the session
        is named.
        """
        given = [message_of(each) for each in messages]
        asked = read(IngestRequest, messages=given, session_id=session, store=store)
        ingest: Callable[..., Ingested] = (
            self._service.ingest if asked.store else self._service.ingest_outside
        )
        done = ingest(self._user, asked.messages, session_id=asked.session_id, agent=self._agent)
        self._work()
        return done

    def learn(self, session: str, history: ChatHistoryProvider | Load) -> int:
        """Have memories extracted from what is new in a history that stays where it is; return how
        many messages were.
        It is an object with `load`, or a function that returns the messages of a session. Reads no
        more of it than what is new, where it has `load_recent`. Messages without an `id` go by
        their place.
        """

        def has_met(message: Mapping[str, Any]) -> bool:
            asked = read(IngestRequest, messages=[message])
            return not self._service.ingest_outside.unmet(
                self._user, asked.messages, session_id=session
            )

        found = newest(history, checked_id(session, field="session_id"), has_met=has_met)
        parts = [
            found[start : start + MAX_TRANSCRIPT] for start in range(0, len(found), MAX_TRANSCRIPT)
        ]
        return sum(self.ingest(part, session=session, store=False).appended for part in parts)

    def memories(self, **limits: Any) -> Iterator[Record]:
        """The user's current memories, newest first, within the limits of the API's filter
        (`types`, `subject` …).
        """
        return self._service.manage_memories.every(self._user, read(FilterBody, **limits).read())

    def memory(self, memory_id: str) -> Version:
        """A memory with its place among the versions of its topic. Raises `NotFound`."""
        return self._service.manage_memories.read(self._user, memory_id)

    def change(self, memory_id: str, **fields: Any) -> Record:
        """Change fields of a current memory, as the API's PATCH does (`content`, `importance`,
        `data` …); another `content` is a new version, with another id. Raises `NotFound`,
        `Conflict` (`not_current`, `is_preference`).
        """
        record = self._service.manage_memories.patch(
            self._user, memory_id, change(checked(MemoryChange, fields))
        )
        self._work()
        return record

    def delete_memory(self, memory_id: str) -> None:
        """Remove one version; the topic of the current one has none then. Raises `NotFound`."""
        self._service.manage_memories.delete(self._user, memory_id)
        self._work()

    def versions(self, memory_id: str) -> tuple[Version, ...]:
        """Every version of a memory's topic, newest first. Raises `NotFound`."""
        return self._service.manage_memories.history(self._user, memory_id)

    def revert(self, memory_id: str) -> Record:
        """Make this version's content current again, as a new version. Raises `NotFound`,
        `Conflict`.
        """
        record = self._service.manage_memories.revert(self._user, memory_id)
        self._work()
        return record

    def forget(self, **limits: Any) -> tuple[str, ...]:
        """Remove the current memories that match a filter of the API, which has at least one limit,
        with all versions of their topics; return the ids of those that matched.
        """
        where = read(ForgetRequest, filter=limits).filter.read()
        ids = self._service.manage_memories.matching(self._user, where)
        self._service.forget(self._user, where)
        self._work()
        return ids

    def erase(self) -> None:
        """Remove everything of the user, for good."""
        self._service.erase(self._user)
        self._work()

    def export(self) -> str:
        """Everything that is stored of the user, as lines of JSON with ids and all versions:
        docs/export.md. Raises `Unavailable` if that is not done within 20 seconds: then export over
        the API.
        """
        job_id = self._service.export(self._user.owner, user=self._user.user)
        return self._service.export.text(self._ended(job_id))

    def import_(self, lines: str) -> Mapping[str, int]:
        """Store what an export holds under the same ids; return how much was `restored`, was
        `there` already, and `conflicts` with something else in its place. Raises `Unprocessable`
        (`invalid_import`) that names the line.
        """
        return self._ended(
            self._service.imports.of_text(self._user.owner, lines, user=self._user.user)
        ).result

    def _ended(self, job_id: str) -> Job:
        self._work()
        job = self._service.read_job(self._user.owner, job_id, wait=LONGEST_WAIT)
        if job.state != "done":
            raise Unavailable("The work takes longer than a call may.", code="not_done_yet")
        return job

    def tools(self, form: ToolFormat = "openai") -> list[Mapping[str, Any]]:
        """The definitions of the tools that a model may be given: to search this memory, to
        remember, to forget.
        """
        return [definition(tool, form) for tool in TOOLS.values()]

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
        session: str | None = None,
    ) -> Chat:
        """Answer a model's call of a tool with a tool message that can be appended as it is; with
        the asking `session` a search repeats nothing that its window holds. Raises `NotFound` for
        an unknown tool or session.
        """
        asked = read(
            ToolCallBody, arguments=arguments, tool_call_id=tool_call_id, session_id=session
        )
        message = self._service.tools(
            tool_named(name),
            self._user,
            asked.arguments,
            tool_call_id=asked.tool_call_id,
            session=asked.session_id,
        )
        self._work()
        return message

    def static_facts(self) -> tuple[StaticFact, ...]:
        """What is stated for all users, by id; no conversation changes it."""
        return self._service.facts.listed(self._user.owner)

    def put_static_fact(self, fact_id: str, content: Any, *, agent: str | None = None) -> None:
        """State a text, or any other JSON, from now on in the context of every session with a
        static block, or only in those of `agent`.
        """
        asked = read(StaticFactBody, content=content, agent_id=agent)
        name = checked_id(fact_id, field="fact_id")
        self._service.facts.put(self._user.owner, name, content=asked.content, agent=asked.agent_id)

    def delete_static_fact(self, fact_id: str) -> None:
        """State it no more. Raises `NotFound`."""
        self._service.facts.delete(self._user.owner, fact_id)

    def usage(
        self, *, first: date | None = None, last: date | None = None, by: By = "tenant"
    ) -> tuple[Sum, ...]:
        """What the user has used from one day (None: the first of the month) through another (None:
        today): messages, tokens, bytes, model calls and their cost. Raises `Unprocessable`
        (`invalid_period`).
        """
        return self._service.usage(
            self._user.owner, first=first, last=last, by=by, user=self._user.user
        ).sums
