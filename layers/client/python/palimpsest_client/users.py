"""The operations on one user's memory, as steps (`calls`)."""

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
    FeedbackTaken,
    Filter,
    Found,
    Memory,
    NamedUser,
    Preference,
    Recalled,
    Review,
    SavedMemory,
    Session,
    ToolResult,
    User,
    UserProfile,
)

MOST_INGESTED = 1000
LARGEST_INGESTED = 3_000_000
"""The most bytes of a part of a transcript. A request has at most 5 MB."""
VECTORS_AT_ONCE = 100
JSON = dict[str, Any]


class UserCalls(GraphCalls):
    """Calls on the memory of the user `id`."""

    def __init__(self, user_id: str) -> None:
        self.id = user_id

    def read(self) -> Steps[User]:
        """Return the user's number of memories by type, sessions, and last activity. An unknown
        user has none.
        """
        return call("GET", "users", self.id)

    def profile(self, *, ids: bool | None = None) -> Steps[UserProfile]:
        """Return the user's profile in at most 400 tokens. It has current topics by kind,
        instructions, preferences, people and open tasks, each with the id of its memory. `text` is
        the whole profile for a prompt. With `ids=False` it shows no ids, and three times as many
        lines fit.
        """
        return call("GET", "users", self.id, "profile", query={"ids": ids})

    def set_names(
        self, name: str | None = None, *, aliases: Sequence[str] = ()
    ) -> Steps[NamedUser]:
        """Set the name and aliases of the user, which replace earlier ones. A speaker with one of
        these names is the user. Without a name and aliases, remove them.
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
        """Return the memories that answer the query, best first, with their sources. If no memory
        is relevant, or none has a score (0 to 1) of at least `min_score`, the result is empty.
        Times are texts in RFC 3339.

        With `answer`, the result also has an answer from these memories alone. `session` is the
        asking session. Messages in its window are left out. `rerank=False` is faster, but ranks
        less well. With `format="context"`, the result's `context` is text for a model. With
        `similarity`, each of its lines has its score.
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

    def feedback(
        self,
        recall_id: str,
        *,
        useful: Sequence[str] = (),
        wrong: Sequence[str] = (),
        missing: str | None = None,
    ) -> Steps[FeedbackTaken]:
        """Say which memories of a recall were useful or wrong (ids), and what was missing. This
        moves their rank in later recalls a little, and hides none. `wrong` and `missing` open
        reviews. A later opinion on the same recall replaces an earlier one.
        """
        body = {"useful": list(useful), "wrong": list(wrong), "missing": missing}
        return call("POST", "users", self.id, "recalls", recall_id, "feedback", body=body)

    def reviews(self, *, limit: int | None = None) -> Listing[Review]:
        """List the user's open reviews."""
        return Listing(("users", self.id, "reviews"), "reviews", {}, limit)

    def close_review(self, review_id: str) -> Steps[Deleted]:
        """Close a review. The memory does not change. Raises `ReviewNotFound`."""
        return call("DELETE", "users", self.id, "reviews", review_id)

    def search(
        self,
        query: str | None = None,
        *,
        mode: str = "keyword",
        k: int | None = None,
        filter: AnyFilter | None = None,  # noqa: A002
        embedding: Sequence[float] | None = None,
    ) -> Steps[list[Found]]:
        """Return the results of one retriever, `keyword` or `vector`, without combining them with
        others. For `vector`, you may pass your own `embedding`.
        """
        vector = None if embedding is None else list(embedding)
        body = {"query": query, "mode": mode, "k": k, "filter": filter, "embedding": vector}
        answer = yield from call("POST", "users", self.id, "memories", "search", body=body)
        return cast("list[Found]", answer["memories"])

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
        """Save a memory. With a `topic`, it replaces that topic's current memory, whose history
        stays readable. Other fields are those of the API (`subject`, `valid_from` …). The result's
        `outcome` is `created`, `updated` or `unchanged`.
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
        statements = [_without_nulls(memory) for memory in memories]
        saved = yield from call(
            "POST", "users", self.id, "memories", body={"memories": statements}, key=key
        )
        return cast("list[SavedMemory]", saved["memories"])

    def memories(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Memory]:
        """List current memories, newest first, filtered as in the API (`types`, `subject`,
        `topic_key` …).
        """
        return Listing(("users", self.id, "memories"), "memories", limits, limit)

    def memory(self, memory_id: str) -> Steps[Memory]:
        """Return a memory. Raises `MemoryNotFound`."""
        return call("GET", "users", self.id, "memories", memory_id)

    def change(self, /, memory_id: str, **fields: Any) -> Steps[Memory]:
        """Change fields of a memory. A change of `content` makes a new version. Raises
        `MemoryNotFound` and `NotCurrent`.
        """
        return call("PATCH", "users", self.id, "memories", memory_id, body=fields)

    def history(self, memory_id: str, *, limit: int | None = None) -> Listing[Memory]:
        """List every version of the memory's topic, newest first."""
        return Listing(("users", self.id, "memories", memory_id, "history"), "versions", {}, limit)

    def revert(self, memory_id: str, *, key: str | None = None) -> Steps[Memory]:
        """Make this version's content current again, as a new version. Raises `IsCurrent`."""
        return call("POST", "users", self.id, "memories", memory_id, "revert", key=key)

    def delete(
        self, memory_id: str, *, sources: Literal["hide", "redact"] | None = None
    ) -> Steps[Deleted]:
        """Remove a memory. If it is the current version, its topic then has no current memory. The
        words from which it was made are hidden, or redacted (`sources`).
        """
        return call("DELETE", "users", self.id, "memories", memory_id, query={"sources": sources})

    def forget(
        self,
        filter: Filter,  # noqa: A002
        *,
        wait: float | None = None,
        key: str | None = None,
    ) -> Steps[JSON]:  # noqa: A002, RUF100
        """Remove the memories that match the filter, with all versions of their topics."""
        body = {"filter": filter, "wait": wait}
        return call("POST", "users", self.id, "memories", "forget", body=body, key=key)

    def would_forget(self, filter: Filter) -> Steps[list[str]]:  # noqa: A002
        """Return the ids of the memories that `forget` would remove."""
        body = {"filter": filter, "dry_run": True}
        answer = yield from call("POST", "users", self.id, "memories", "forget", body=body)
        return cast("list[str]", answer["ids"])

    def ingest(
        self,
        messages: Sequence[Said],
        *,
        session: str | None = None,
        agent: str | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Store a transcript of any length, and extract memories from it. Without a `session`, the
        beginning of the transcript determines the session.

        A transcript that has grown may be passed again, and only its new messages are stored. The
        answer's `appended` is their number. Raises `TranscriptDiverged`.
        """
        done: JSON = {"session_id": session, "last_seq": None}
        appended = 0
        *earlier, last = parts(
            [message_of(message) for message in messages],
            most=MOST_INGESTED,
            largest=LARGEST_INGESTED,
        ) or [[]]
        for part, patience in [*((earlier_part, None) for earlier_part in earlier), (last, wait)]:
            place = {"session_id": done["session_id"], "after": done["last_seq"], "agent_id": agent}
            body = {"messages": part, **place, "wait": patience}
            done = yield from call("POST", "users", self.id, "ingest", body=body)
            appended += done.get("appended") or 0
        return {**done, "appended": appended}

    def learn(
        self,
        messages: Sequence[Said],
        *,
        session: str,
        agent: str | None = None,
        wait: float | None = None,
    ) -> Steps[JSON]:
        """Extract memories from messages of a history that you keep. No message is stored, and each
        needs an `id`. Messages that were passed for the session before are skipped, so you may pass
        the whole history or its newest part again.
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
        """List the user's preferences by key."""
        return Listing(("users", self.id, "preferences"), "preferences", {}, limit)

    def preference(self, key: str) -> Steps[Preference]:
        """Return a preference. Raises `PreferenceNotFound`."""
        return call("GET", "users", self.id, "preferences", key)

    def prefer(self, values: Mapping[str, Any]) -> Steps[list[Preference]]:
        """Set 1 to 30 preferences. Each is any JSON value under its key. All other preferences
        stay. Raises `TooManyPreferences`.
        """
        done = yield from call(
            "PUT", "users", self.id, "preferences", body={"preferences": dict(values)}
        )
        return cast("list[Preference]", done["preferences"])

    def delete_preference(self, key: str) -> Steps[Deleted]:
        """Remove a preference. Raises `PreferenceNotFound`."""
        return call("DELETE", "users", self.id, "preferences", key)

    def delete_preferences(self, *, wait: float | None = None) -> Steps[JSON]:
        """Remove all preferences, with their history."""
        return call("DELETE", "users", self.id, "preferences", query={"wait": wait})

    def put_vectors(
        self,
        vectors: Sequence[Mapping[str, Any]],
        *,
        namespace: str | None = None,
        key: str | None = None,
    ) -> Steps[JSON]:
        """Store vectors (`id`, `values` or `text`, `metadata`), 100 at a time. A vector replaces a
        stored one with the same id.
        """
        waiting, shown = list(vectors), None
        for start in range(0, max(1, len(waiting)), VECTORS_AT_ONCE):
            body = {"vectors": waiting[start : start + VECTORS_AT_ONCE], "namespace": namespace}
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
        """Return the vectors nearest to `values` or to `text`, nearest first. `filter` has
        conditions on metadata. Each result has a cosine of at least `min_score`.
        """
        body = {
            "values": None if values is None else list(values),
            "text": text,
            "top_k": top_k,
            "filter": filter,
            "namespace": namespace,
            "min_score": min_score,
        }
        answer = yield from call("POST", "users", self.id, "vectors", "search", body=body)
        return cast("list[JSON]", answer["matches"])

    def delete_vectors(self, *ids: str, namespace: str | None = None) -> Steps[JSON]:
        """Remove vectors by id, or without any id all vectors of the namespace."""
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
        """Return the namespaces that hold vectors, and how many each holds."""
        return call("GET", "users", self.id, "vectors", "stats")

    def begin_export(self, *, wait: float | None = None, key: str | None = None) -> Steps[JSON]:
        """Start a job that writes all data of the user to files. When the job is done, it names
        them (`files`).
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
        """Store the contents of an export: its lines, or `{"export_job_id": …}`. With `form`, the
        export is that of `mem0` or `agentcore`. Data that is already stored stays. Raises
        `InvalidImport`, which names the line.
        """
        body = {"data": data, "format": form, "wait": wait}
        return call("POST", "users", self.id, "import", body=body, key=key)

    def import_(
        self, path: str | PathLike[str], *, upload: str | None = None, wait: float | None = None
    ) -> Steps[JSON]:
        """Import an export's file of any size. It is sent in parts, and stored under the same ids
        after every line was checked. Data that is already stored stays. Raises `InvalidImport`, and
        `NotAPath` for a text instead of a path. The job fails if a line is wrong.
        """
        upload = upload or uuid.uuid4().hex
        for number, part in enumerate(parts_of(path)):
            yield from call("PUT", "users", self.id, "import", upload, number, body={"data": part})
        return (yield from self.begin_import({"upload_id": upload}, wait=wait))

    def sessions(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Session]:
        """List the user's sessions, newest first."""
        return Listing(("sessions",), "sessions", {"user_id": self.id, **limits}, limit)

    def jobs(self, /, *, limit: int | None = None, **limits: Any) -> Listing[JSON]:
        """List the user's jobs of the last 30 days, newest first. With `state="failed"`, list only
        failed jobs.
        """
        return Listing(("jobs",), "jobs", {"user_id": self.id, **limits}, limit)

    def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any],
        *,
        call_id: str | None = None,
        session: str | None = None,
        identify: bool = False,
    ) -> Steps[ToolResult]:
        """Answer a model's call of one of our tools with a message that can be appended as it is.
        If `identify`, the answer of a search also has `recall_id` and `memory_ids` for `feedback`.
        Do not send these two to a model.
        """
        body = {
            "arguments": arguments, "tool_call_id": call_id, "session_id": session,
            "identify": identify or None,
        }  # fmt: skip
        return call("POST", "users", self.id, "tools", name, body=body)

    def erase(self, *, wait: float | None = None) -> Steps[JSON]:
        """Remove all data of the user, for good. From the answer on, none of it is visible. The
        job's receipt says what was removed from each store so far.
        """
        return call("DELETE", "users", self.id, query={"wait": wait})


def _key_of_part(key: str | None, start: int) -> str | None:
    """Return the key for the part of a call that begins at `start`. A repeated call has the same
    parts, and so the same keys.
    """
    return key if key is None or not start else uuid.uuid5(uuid.NAMESPACE_OID, f"{key}/{start}").hex


def _without_nulls(memory: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in memory.items() if value is not None}
