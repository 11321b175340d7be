"""The operations on one user's memory, as steps."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, cast

from palimpsest_client.calls import Listing, Steps, call
from palimpsest_client.exchange import parts_of
from palimpsest_client.graph import GraphCalls
from palimpsest_client.said import Said, message_of, parts
from palimpsest_client.types import (
    AnyFilter,
    Deleted,
    Filter,
    Found,
    Memory,
    NamedUser,
    Preference,
    Recalled,
    SavedMemory,
    Session,
    ToolResult,
    User,
    UserProfile,
)

MOST_INGESTED = 1000
VECTORS_AT_ONCE = 100
JSON = dict[str, Any]


class UserCalls(GraphCalls):
    """Calls on the memory of the user `id`."""

    def __init__(self, user_id: str) -> None:
        self.id = user_id

    def read(self) -> Steps[User]:
        """The user's memories by type, sessions, and last activity. An unknown user has none."""
        return call("GET", "users", self.id)

    def profile(self, *, ids: bool | None = None) -> Steps[UserProfile]:
        """The user's profile in at most 400 tokens: current topics by kind, instructions,
        preferences, people and open tasks, each with the id of its memory. `text` is all of it for
        a prompt; with `ids=False` it shows no ids, and three times as many lines fit.
        """
        return call("GET", "users", self.id, "profile", query={"ids": ids})

    def set_names(
        self, name: str | None = None, *, aliases: Sequence[str] = ()
    ) -> Steps[NamedUser]:
        """Set the name and aliases of the user, and replace earlier ones. Under these names a
        speaker is the user. Without any, remove them.
        """
        return call("PUT", "users", self.id, body={"name": name, "aliases": list(aliases)})

    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        max_tokens: int | None = None,
        filter: AnyFilter | None = None,  # noqa: A002 - as the API calls it
        as_of: str | None = None,
        known_at: str | None = None,
        answer: bool | None = None,
        session: str | None = None,
        explain: bool | None = None,
        rerank: bool | None = None,
        min_score: float | None = None,
        format: str | None = None,  # noqa: A002 - as the API calls it
        similarity: bool | None = None,
    ) -> Steps[Recalled]:
        """The memories that answer the query, best first, with sources. If nothing is relevant, or
        has a score (0 to 1) of at least `min_score`, the result is empty. With `answer` also an
        answer from these memories alone. Times are texts in RFC 3339. `session` is the asking
        session, whose window's messages are left out. `rerank=False` is faster, and ranks less
        well. With `format="context"` the answer's `context` is text for a model, with `similarity`
        each line's score in it.
        """
        body = {
            "query": query,
            "k": k,
            "max_tokens": max_tokens,
            "filter": filter,
            "as_of": as_of,
            "known_at": known_at,
            "answer": answer,
            "session_id": session,
            "explain": explain,
            "rerank": rerank,
            "min_score": min_score,
            "format": format,
            "similarity": similarity,
        }
        return call("POST", "users", self.id, "recall", body=body)

    def search(
        self,
        query: str | None = None,
        *,
        mode: str = "keyword",
        k: int | None = None,
        filter: AnyFilter | None = None,  # noqa: A002
        embedding: Sequence[float] | None = None,
    ) -> Steps[list[Found]]:
        """The results of one retriever, `keyword` or `vector`, without fusion. `vector` also takes
        an `embedding` of yours.
        """
        given = None if embedding is None else list(embedding)
        body = {"query": query, "mode": mode, "k": k, "filter": filter, "embedding": given}
        found = yield from call("POST", "users", self.id, "memories", "search", body=body)
        return cast("list[Found]", found["memories"])

    def remember(
        self,
        /,
        content: str,
        *,
        type: str = "fact",  # noqa: A002 - as the API calls it
        topic: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
        **fields: Any,
    ) -> Steps[SavedMemory]:
        """Save a memory; with a `topic` it takes the place of that topic's current one, whose
        history stays readable.
        Other fields are those of the API (`subject`, `valid_from` …). Its `outcome` is created,
        updated or unchanged.
        """
        memory = {
            "type": type,
            "content": content,
            "topic_key": topic,
            "importance": importance,
            "metadata": metadata,
            **fields,
        }
        saved = yield from self.remember_all([memory], key=key)
        return saved[0]

    def remember_all(
        self, memories: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> Steps[list[SavedMemory]]:
        """Save 1 to 30 memories, all or none."""
        given = [_without_nulls(memory) for memory in memories]
        saved = yield from call(
            "POST", "users", self.id, "memories", body={"memories": given}, key=key
        )
        return cast("list[SavedMemory]", saved["memories"])

    def memories(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Memory]:
        """Current memories, newest first, within the limits of the API (`types`, `subject`,
        `topic_key` …).
        """
        return Listing(("users", self.id, "memories"), "memories", limits, limit)

    def memory(self, memory_id: str) -> Steps[Memory]:
        """Raises `MemoryNotFound`."""
        return call("GET", "users", self.id, "memories", memory_id)

    def change(self, /, memory_id: str, **fields: Any) -> Steps[Memory]:
        """Change fields; another `content` is a new version. Raises `MemoryNotFound`,
        `NotCurrent`.
        """
        return call("PATCH", "users", self.id, "memories", memory_id, body=fields)

    def history(self, memory_id: str, *, limit: int | None = None) -> Listing[Memory]:
        """Every version of the memory's topic, newest first."""
        return Listing(("users", self.id, "memories", memory_id, "history"), "versions", {}, limit)

    def revert(self, memory_id: str, *, key: str | None = None) -> Steps[Memory]:
        """Make this version's content current again, as a new version. Raises `IsCurrent`."""
        return call("POST", "users", self.id, "memories", memory_id, "revert", key=key)

    def delete(
        self, memory_id: str, *, sources: Literal["hide", "redact"] | None = None
    ) -> Steps[Deleted]:
        """Remove a memory; deleting the current version retracts its topic. The words that it
        rested on are hidden, or redacted.
        """
        return call("DELETE", "users", self.id, "memories", memory_id, query={"sources": sources})

    def forget(
        self,
        filter: Filter,  # noqa: A002
        *,
        wait: float | None = None,
        key: str | None = None,
    ) -> Steps[JSON]:  # noqa: A002, RUF100
        """Remove what matches, with all versions of its topics."""
        body = {"filter": filter, "wait": wait}
        return call("POST", "users", self.id, "memories", "forget", body=body, key=key)

    def would_forget(self, filter: Filter) -> Steps[list[str]]:  # noqa: A002
        """The ids of the memories that `forget` would remove."""
        body = {"filter": filter, "dry_run": True}
        found = yield from call("POST", "users", self.id, "memories", "forget", body=body)
        return cast("list[str]", found["ids"])

    def ingest(
        self,
        messages: Sequence[Said],
        *,
        session: str | None = None,
        agent: str | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Store a transcript of any length, and have memories extracted. Without a `session` its
        beginning decides.

        A transcript that has grown may be given again: only what is new is stored. Raises
        `TranscriptDiverged`.
        """
        done: JSON = {"session_id": session, "last_seq": None}
        *earlier, last = parts(
            [message_of(message) for message in messages], most=MOST_INGESTED
        ) or [[]]
        for part, patience in [*((each, None) for each in earlier), (last, wait)]:
            place = {"session_id": done["session_id"], "after": done["last_seq"], "agent_id": agent}
            body = {"messages": part, **place, "wait": patience}
            done = yield from call("POST", "users", self.id, "ingest", body=body)
        return done

    def learn(
        self,
        messages: Sequence[Said],
        *,
        session: str,
        agent: str | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Have memories extracted from messages of a history that stays yours, each with an `id`:
        none is stored.
        Those that the session has met are passed over, so the whole or the newest part may be given
        again.
        """
        body = {"session_id": session, "agent_id": agent, "store": False}
        *earlier, last = parts(
            [message_of(message) for message in messages], most=MOST_INGESTED
        ) or [[]]
        for part in earlier:
            yield from call("POST", "users", self.id, "ingest", body={**body, "messages": part})
        done: JSON = yield from call(
            "POST", "users", self.id, "ingest", body={**body, "messages": last, "wait": wait}
        )
        return done

    def preferences(self, *, limit: int | None = None) -> Listing[Preference]:
        """The user's preferences by key."""
        return Listing(("users", self.id, "preferences"), "preferences", {}, limit)

    def preference(self, key: str) -> Steps[Preference]:
        """Raises `PreferenceNotFound`."""
        return call("GET", "users", self.id, "preferences", key)

    def prefer(self, values: Mapping[str, Any]) -> Steps[list[Preference]]:
        """Set 1 to 30 preferences, any JSON value by its key; the others stay. Raises
        `TooManyPreferences`.
        """
        done = yield from call(
            "PUT", "users", self.id, "preferences", body={"preferences": dict(values)}
        )
        return cast("list[Preference]", done["preferences"])

    def delete_preference(self, key: str) -> Steps[Deleted]:
        """Raises `PreferenceNotFound`."""
        return call("DELETE", "users", self.id, "preferences", key)

    def delete_preferences(self, *, wait: float | None = None) -> Steps[JSON]:
        """Remove all of them, with their history."""
        return call("DELETE", "users", self.id, "preferences", query={"wait": wait})

    def put_vectors(
        self,
        vectors: Sequence[Mapping[str, Any]],
        *,
        namespace: str | None = None,
        key: str | None = None,
    ) -> Steps[JSON]:
        """Store vectors (`id`, `values` or `text`, `metadata`) in place of those with the same ids,
        100 at a time.
        """
        given, shown = list(vectors), None
        for start in range(0, max(1, len(given)), VECTORS_AT_ONCE):
            body = {"vectors": given[start : start + VECTORS_AT_ONCE], "namespace": namespace}
            shown = yield from call(
                "POST", "users", self.id, "vectors", body=body, key=_key_of_part(key, start)
            )
        return cast("JSON", shown)

    def search_vectors(
        self,
        *,
        values: Sequence[float] | None = None,
        text: str | None = None,
        top_k: int | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - as the API calls it
        namespace: str | None = None,
        min_score: float | None = None,
    ) -> Steps[list[JSON]]:
        """The vectors nearest to `values` or to a `text`, nearest first, within a filter of
        metadata, each with a cosine of at least `min_score`.
        """
        body = {
            "values": None if values is None else list(values),
            "text": text,
            "top_k": top_k,
            "filter": filter,
            "namespace": namespace,
            "min_score": min_score,
        }
        found = yield from call("POST", "users", self.id, "vectors", "search", body=body)
        return cast("list[JSON]", found["matches"])

    def delete_vectors(self, *ids: str, namespace: str | None = None) -> Steps[JSON]:
        """Remove vectors by id, or without any id all of the namespace."""
        count = 0
        for start in range(0, max(1, len(ids)), VECTORS_AT_ONCE):
            query = {
                "ids": list(ids[start : start + VECTORS_AT_ONCE]) or None,
                "namespace": namespace,
            }
            removed = yield from call("DELETE", "users", self.id, "vectors", query=query)
            count += removed.get("count", 0)
        return {"count": count}

    def vector_stats(self) -> Steps[JSON]:
        """The namespaces that hold vectors, and how many each holds."""
        return call("GET", "users", self.id, "vectors", "stats")

    def begin_export(self, *, wait: float | None = None, key: str | None = None) -> Steps[JSON]:
        """Have everything of the user written to files; the job that is done names them
        (`files`).
        """
        return call("POST", "users", self.id, "export", query={"wait": wait}, key=key)

    def begin_import(
        self,
        data: str | Mapping[str, Any] | Sequence[Any],
        *,
        form: str = "palimpsest",
        wait: float | None = None,
        key: str | None = None,
    ) -> Steps[JSON]:
        """Store what an export holds: its lines, or `{"export_job_id": …}`; or with `form` what
        `mem0` or `agentcore` exported. What is there already stays. Raises `InvalidImport` with the
        line.
        """
        body = {"data": data, "format": form, "wait": wait}
        return call("POST", "users", self.id, "import", body=body, key=key)

    def import_(
        self, path: str | PathLike[str], *, upload: str | None = None, wait: float | None = None
    ) -> Steps[JSON]:
        """Import an export's file of any size. It is sent in parts, and stored under the same ids
        once every line was checked. What is there already stays. Raises `InvalidImport`; the job
        fails if a line is wrong.
        """
        upload = upload or uuid.uuid4().hex
        for number, part in enumerate(parts_of(path)):
            yield from call("PUT", "users", self.id, "import", upload, number, body={"data": part})
        return (yield from self.begin_import({"upload_id": upload}, wait=wait))

    def sessions(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Session]:
        """The user's sessions, newest first."""
        return Listing(("sessions",), "sessions", {"user_id": self.id, **limits}, limit)

    def jobs(self, /, *, limit: int | None = None, **limits: Any) -> Listing[JSON]:
        """The user's jobs of the last 30 days, newest first; `state="failed"` for failed ones."""
        return Listing(("jobs",), "jobs", {"user_id": self.id, **limits}, limit)

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        call_id: str | None = None,
        session: str | None = None,
    ) -> Steps[ToolResult]:
        """Answer a model's call of one of our tools: a message that can be appended as it is."""
        body = {"arguments": arguments, "tool_call_id": call_id, "session_id": session}
        return call("POST", "users", self.id, "tools", name, body=body)

    def erase(self, *, wait: float | None = None) -> Steps[JSON]:
        """Remove everything of the user, for good: nothing is seen from the answer on; the job's
        receipt says what is reached in each store.
        """
        return call("DELETE", "users", self.id, query={"wait": wait})


def _key_of_part(key: str | None, start: int) -> str | None:
    """The key of the part of a call that begins there: as the parts are the same, so are their
    keys.
    """
    return key if key is None or not start else uuid.uuid5(uuid.NAMESPACE_OID, f"{key}/{start}").hex


def _without_nulls(memory: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in memory.items() if value is not None}
