"""The part of `AgentMemory` for memories, which can be saved, recalled, changed, forgotten and
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
    Deleted,
    FeedbackTaken,
    Filter,
    Found,
    Memory,
    NamedUser,
    Recalled,
    Review,
    SavedMemory,
    StaticFact,
    ToolResult,
    Used,
    UserProfile,
)

from palimpsest_local.conversations import Conversations
from palimpsest_local.memory_store import StoreIndex


class UserMemories(Conversations):
    """The memories of the user, the tools over them, and the usage."""

    _service: Service
    _scope: UserScope

    def remember(self, *memories: str | Mapping[str, Any]) -> list[SavedMemory]:
        """Save 1 to 30 memories. Each is a text, which becomes a fact, or the fields of the API
        (`type`, `content`, `topic_key` …).

        The `outcome` of each is `created`, `updated` (a stored memory got these fields) or
        `unchanged`. Raises `palimpsest.errors.Unavailable` if a `memory_store` could not save it.
        The next call then tries again.
        """
        statements = [
            {"type": "fact", "content": memory} if isinstance(memory, str) else memory
            for memory in memories
        ]
        saved = self.user.remember_all(
            [{"agent_id": self._agent, **memory} for memory in statements]
        )
        index = self._service.index
        if isinstance(index, StoreIndex) and index.failure is not None:
            raise index.failure
        return saved

    def set_names(self, name: str | None = None, *, aliases: Sequence[str] = ()) -> NamedUser:
        """Set the name and aliases of the user, as `User.set_names` does."""
        return self.user.set_names(name, aliases=aliases)

    def profile(self, *, ids: bool | None = None) -> UserProfile:
        """Return the profile of the user, in at most 400 tokens, as `User.profile` does."""
        return self.user.profile(ids=ids)

    def recall(self, query: str, **options: Any) -> Recalled:
        """Return the `memories` of all sessions that answer the query, best first, with their
        sources, as `User.recall` does.
        """
        return self.user.recall(query, **options)

    def feedback(self, recall_id: str, **opinions: Any) -> FeedbackTaken:
        """Say which memories of a recall were `useful` or `wrong` (ids), and what was `missing`, as
        `User.feedback` does.
        """
        return self.user.feedback(recall_id, **opinions)

    def reviews(self) -> list[Review]:
        """Return the open reviews, which feedback opens."""
        return list(self.user.reviews())

    def close_review(self, review_id: str) -> Deleted:
        """Close a review. The memory does not change. Raises `ReviewNotFound`."""
        return self.user.close_review(review_id)

    def search(self, query: str | None = None, *, mode: str, **options: Any) -> list[Found]:
        """Return the results of one retriever, as `User.search` does. `mode` is `keyword`, or
        `vector` for the meaning of the query or an `embedding`.
        """
        return self.user.search(query, mode=mode, **options)

    def ingest(
        self, messages: Sequence[Said], *, session: str | None = None, store: bool = True
    ) -> Job:
        """Store a transcript as a session's history, and extract memories from it. `shown` of the
        job has `session_id` and the number of messages that were `appended`.

        A transcript that has grown may be sent again, and only its new messages are stored. Raises
        `TranscriptDiverged` if it contradicts the stored history. With `store=False`, memories are
        extracted from the new messages, but no message is stored. Each message then needs an `id`,
        and the session must be named.
        """
        if store:
            return self.user.ingest_one(messages, session=session, agent=self._agent)
        named: Any = session  # the service refuses None
        return self.user.learn(messages, session=named, agent=self._agent)

    def learn(self, session: str, history: ChatHistoryProvider | Load) -> int:
        """Extract memories from new messages of a history that the caller keeps. Return how many
        messages were new.

        The history is an object with `load`, or a function that returns the messages of a session.
        If it has `load_recent`, only new messages are read. Messages without an `id` are identified
        by their position.
        """

        def has_met(message: Mapping[str, Any]) -> bool:
            messages = IngestRequest.model_validate({"messages": [message]}).messages
            return not self._service.ingest_outside.unmet(self._scope, messages, session_id=session)

        messages = newest(history, checked_id(session, field="session_id"), has_met=has_met)
        parts = [
            messages[start : start + MAX_TRANSCRIPT]
            for start in range(0, len(messages), MAX_TRANSCRIPT)
        ]
        jobs = [self.ingest(part, session=session, store=False) for part in parts]
        return sum(job.shown["appended"] for job in jobs)

    def memories(self, **limits: Any) -> Iterator[Memory]:
        """Yield the user's current memories, newest first. They can be filtered as in the API
        (`types`, `subject` …).
        """
        return self.user.memories(**limits)

    def memory(self, memory_id: str) -> Memory:
        """Return a memory as a version of its topic. Raises `MemoryNotFound`."""
        return self.user.memory(memory_id)

    def change(self, memory_id: str, **fields: Any) -> Memory:
        """Change fields of a current memory (`content`, `importance`, `data` …). A change of
        `content` makes a new version, with another id. Raises `MemoryNotFound`, `NotCurrent` and
        `IsPreference`.
        """
        return self.user.change(memory_id, **fields)

    def delete_memory(self, memory_id: str) -> None:
        """Remove one version. If it is the current one, its topic then has no current version.
        Raises `MemoryNotFound`.
        """
        self.user.delete(memory_id)

    def versions(self, memory_id: str) -> list[Memory]:
        """Return every version of a memory's topic, newest first. Raises `MemoryNotFound`."""
        return list(self.user.history(memory_id))

    def revert(self, memory_id: str) -> Memory:
        """Make this version's content current again, as a new version. Raises `MemoryNotFound` and
        `IsCurrent`.
        """
        return self.user.revert(memory_id)

    def forget(self, **limits: Any) -> list[str]:
        """Remove the current memories that match a filter, with all versions of their topics.
        Return the ids of the matching memories. The filter is that of the API and needs at least
        one condition.
        """
        where: Filter = {**limits}  # type: ignore[typeddict-item] # the service checks it
        ids = self.user.would_forget(where)
        self.user.forget(where)
        return ids

    def erase(self) -> None:
        """Remove all data of the user, for good."""
        self.user.erase()

    def export(self) -> str:
        """Return all stored data of the user, as lines of JSON with ids and all versions
        (docs/export.md).
        """
        job = self.user.begin_export().wait()
        owner = self._scope.owner
        return self._service.export.text(self._service.read_job(owner, str(job.id), wait=0))

    def import_(self, lines: str) -> Mapping[str, int]:
        """Store the contents of an export under the same ids. Return how many items were
        `restored`, were `there` already, and were `conflicts` with another stored item. Raises
        `InvalidImport`, which names the line.
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
        """Return the definitions of the tools with which a model searches this memory, remembers
        something or forgets something.
        """
        return self.client.tools(format=form)

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
        session: str | None = None,
        identify: bool = False,
    ) -> ToolResult:
        """Answer a model's call of a tool with a tool message that can be appended as it is. With
        `session`, which is the asking session, a search repeats nothing that is in its window. If
        `identify`, the answer of a search also has `recall_id` and `memory_ids` for `feedback`.
        Raises `ToolNotFound`.
        """
        return self.user.call_tool(
            name, arguments, call_id=tool_call_id, session=session, identify=identify
        )

    def static_facts(self) -> list[StaticFact]:
        """Return the facts that are stated for all users, by id. No conversation can change
        them.
        """
        return list(self.client.static_facts())

    def put_static_fact(self, fact_id: str, content: Any, *, agent: str | None = None) -> None:
        """State a fact for all users, as a text or any other JSON. From now on it is in the context
        of every session that has a static block, or only in those of `agent`.
        """
        self.client.put_static_fact(fact_id, content, agent=agent)

    def delete_static_fact(self, fact_id: str) -> None:
        """Remove a fact that was stated for all users. Raises `FactNotFound`."""
        self.client.delete_static_fact(fact_id)

    def usage(self, *, by: str = "tenant", **period: Any) -> list[Used]:
        """Return the usage of the user, as `Palimpsest.usage` does: messages, tokens, bytes, model
        calls and their cost.
        """
        return list(self.client.usage(by=by, user_id=self.user.id, **period))
