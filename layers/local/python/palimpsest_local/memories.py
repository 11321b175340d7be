"""The part of `AgentMemory` that is about what is remembered: saved, recalled, changed, forgotten,
exported.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.api.resources.memories.shapes import IngestRequest
from palimpsest.extraction.ingest import MAX_TRANSCRIPT
from palimpsest.extraction.outside import ChatHistoryProvider, Load, newest
from palimpsest.scope import UserScope, checked_id
from palimpsest.service.service import Service
from palimpsest_client import Job
from palimpsest_client.exchange import PART
from palimpsest_client.said import Said
from palimpsest_client.types import (
    Filter,
    Found,
    Memory,
    NamedUser,
    Recalled,
    SavedMemory,
    StaticFact,
    ToolResult,
    Used,
    UserProfile,
)

from palimpsest_local.conversations import Conversations
from palimpsest_local.memory_store import StoreIndex


class UserMemories(Conversations):
    """What is remembered of the user, by whom it is used, and what that costs."""

    _service: Service
    _scope: UserScope

    def remember(self, *memories: str | Mapping[str, Any]) -> list[SavedMemory]:
        """Save 1 to 30 memories: texts, which become facts, or fields as in the API (`type`,
        `content`, `topic_key` …).

        The `outcome` of each is `created`, `updated` (a stored one got these fields) or
        `unchanged`. Raises `palimpsest.errors.Unavailable` if a `memory_store` did not take it; the
        next call tries that again.
        """
        given = [
            {"type": "fact", "content": memory} if isinstance(memory, str) else memory
            for memory in memories
        ]
        saved = self.user.remember_all([{"agent_id": self._agent, **memory} for memory in given])
        index = self._service.index
        if isinstance(index, StoreIndex) and index.failure is not None:
            raise index.failure
        return saved

    def set_names(self, name: str | None = None, *, aliases: Sequence[str] = ()) -> NamedUser:
        """Set the name and aliases of the user, as `User.set_names`."""
        return self.user.set_names(name, aliases=aliases)

    def profile(self, *, ids: bool | None = None) -> UserProfile:
        """The profile of the user, in at most 400 tokens, as `User.profile`."""
        return self.user.profile(ids=ids)

    def recall(self, query: str, **options: Any) -> Recalled:
        """Return the `memories` of all sessions that answer the query, best first, with their
        sources, as `User.recall`.
        """
        return self.user.recall(query, **options)

    def search(self, query: str | None = None, *, mode: str, **options: Any) -> list[Found]:
        """The results of one retriever, as `User.search`: `keyword`, or `vector` by the query's
        meaning or an `embedding`.
        """
        return self.user.search(query, mode=mode, **options)

    def ingest(
        self, messages: Sequence[Said], *, session: str | None = None, store: bool = True
    ) -> Job:
        """Store a transcript as a session's history and have memories extracted from it; `shown` of
        the job has `session_id` and how many messages were `appended`.

        A transcript that has grown may be sent again: only what is new is stored. Raises
        `TranscriptDiverged` if it contradicts the stored history. Without `store` memories are
        extracted from what is new and no message is stored; then each has an `id`, and the session
        is named.
        """
        if store:
            return self.user.ingest_one(messages, session=session, agent=self._agent)
        named: Any = session  # the service refuses None
        return self.user.learn(messages, session=named, agent=self._agent)

    def learn(self, session: str, history: ChatHistoryProvider | Load) -> int:
        """Extract memories from new messages of a history that the caller keeps; return how many
        messages were. It is an object with `load`, or a function that returns the messages of a
        session. Reads no more of it than what is new, where it has `load_recent`. Messages without
        an `id` go by their place.
        """

        def has_met(message: Mapping[str, Any]) -> bool:
            asked = IngestRequest.model_validate({"messages": [message]}).messages
            return not self._service.ingest_outside.unmet(self._scope, asked, session_id=session)

        found = newest(history, checked_id(session, field="session_id"), has_met=has_met)
        parts = [
            found[start : start + MAX_TRANSCRIPT] for start in range(0, len(found), MAX_TRANSCRIPT)
        ]
        jobs = [self.ingest(part, session=session, store=False) for part in parts]
        return sum(job.shown["appended"] for job in jobs)

    def memories(self, **limits: Any) -> Iterator[Memory]:
        """The user's current memories, newest first, within the limits of the API (`types`,
        `subject` …).
        """
        return self.user.memories(**limits)

    def memory(self, memory_id: str) -> Memory:
        """A memory with its place among the versions of its topic. Raises `MemoryNotFound`."""
        return self.user.memory(memory_id)

    def change(self, memory_id: str, **fields: Any) -> Memory:
        """Change fields of a current memory (`content`, `importance`, `data` …); another `content`
        is a new version, with another id. Raises `MemoryNotFound`, `NotCurrent`, `IsPreference`.
        """
        return self.user.change(memory_id, **fields)

    def delete_memory(self, memory_id: str) -> None:
        """Remove one version; the topic of the current one has none then. Raises
        `MemoryNotFound`.
        """
        self.user.delete(memory_id)

    def versions(self, memory_id: str) -> list[Memory]:
        """Every version of a memory's topic, newest first. Raises `MemoryNotFound`."""
        return list(self.user.history(memory_id))

    def revert(self, memory_id: str) -> Memory:
        """Make this version's content current again, as a new version. Raises `MemoryNotFound`,
        `IsCurrent`.
        """
        return self.user.revert(memory_id)

    def forget(self, **limits: Any) -> list[str]:
        """Remove the current memories that match a filter of the API, which has at least one limit,
        with all versions of their topics; return the ids of the matching memories.
        """
        where: Filter = {**limits}  # type: ignore[typeddict-item] # the service checks it
        ids = self.user.would_forget(where)
        self.user.forget(where)
        return ids

    def erase(self) -> None:
        """Remove everything of the user, for good."""
        self.user.erase()

    def export(self) -> str:
        """Everything that is stored of the user, as lines of JSON with ids and all versions:
        docs/export.md.
        """
        job = self.user.begin_export().wait()
        owner = self._scope.owner
        return self._service.export.text(self._service.read_job(owner, str(job.id), wait=0))

    def import_(self, lines: str) -> Mapping[str, int]:
        """Store what an export holds under the same ids; return how much was `restored`, was
        `there` already, and `conflicts` with something else in its place. Raises `InvalidImport`
        that names the line.
        """
        data: str | Mapping[str, str] = lines
        if len(lines) > PART:
            data = {"upload_id": uuid.uuid4().hex}
            for number, start in enumerate(range(0, len(lines), PART)):
                part = {"data": lines[start : start + PART]}
                place = ("users", self.user.id, "import", data["upload_id"], number)
                self.client.request("PUT", *place, body=part)
        result: Mapping[str, int] = self.user.begin_import(data).wait().shown["result"]
        return result

    def tools(self, form: str = "openai") -> list[dict[str, Any]]:
        """The definitions of the tools that a model may be given: to search this memory, to
        remember, to forget.
        """
        return self.client.tools(format=form)

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
        session: str | None = None,
    ) -> ToolResult:
        """Answer a model's call of a tool with a tool message that can be appended as it is; with
        the asking `session` a search repeats nothing that its window holds. Raises `ToolNotFound`.
        """
        return self.user.call_tool(name, arguments, call_id=tool_call_id, session=session)

    def static_facts(self) -> list[StaticFact]:
        """What is stated for all users, by id; no conversation changes it."""
        return list(self.client.static_facts())

    def put_static_fact(self, fact_id: str, content: Any, *, agent: str | None = None) -> None:
        """State a text, or any other JSON, from now on in the context of every session with a
        static block, or only in those of `agent`.
        """
        self.client.put_static_fact(fact_id, content, agent=agent)

    def delete_static_fact(self, fact_id: str) -> None:
        """State it no more. Raises `FactNotFound`."""
        self.client.delete_static_fact(fact_id)

    def usage(self, *, by: str = "tenant", **period: Any) -> list[Used]:
        """The usage of the user, as `Palimpsest.usage`: messages, tokens, bytes, model calls and
        their cost.
        """
        return list(self.client.usage(by=by, user_id=self.user.id, **period))
