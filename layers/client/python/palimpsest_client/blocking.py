"""The client for programs that wait: every call returns once its answer is there.
`write_blocking.py` writes this file from `awaited.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2

from palimpsest_client import jobs
from palimpsest_client.calls import Listing, Pages, Pause, Send, Sent, Steps, advanced
from palimpsest_client.connection import LOST, TIMEOUT, Content, Endpoint, find, lost_of, options
from palimpsest_client.exchange import conversations, lines_of, write_whole
from palimpsest_client.http_client import Http
from palimpsest_client.jobs import LONGEST_WAIT, JobState
from palimpsest_client.progress import Counted
from palimpsest_client.said import OnText, Said, reply_of
from palimpsest_client.sessions import SessionCalls, Turn, id_for
from palimpsest_client.tenants import TenantCalls
from palimpsest_client.users import UserCalls

P = ParamSpec("P")
R = TypeVar("R")
Calls = TypeVar("Calls")


class Connection:
    """Carries out steps, one after another. Safe to share between tasks or between threads."""

    def __init__(
        self, where: Endpoint, *, timeout: float, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._http = Http({**options(where, timeout=timeout), "transport": transport})

    def run(self, steps: Steps[R]) -> R:
        try:
            step = next(steps)
            while True:
                step = advanced(steps, self._done(step))
        except StopIteration as end:
            result: R = end.value
            return result

    def _done(self, step: Send | Pause) -> Sent | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        request: dict[str, Any] = {"json": step.body, "params": step.query, "headers": step.headers}
        http = self._http.client()
        try:
            with http.stream(step.method, step.path, **request) as answer:
                content = Content(answer)
                for part in answer.iter_bytes():
                    content.add(part)
                return content.sent
        except LOST as error:
            return lost_of(error)

    def rows(self, listing: Listing[R]) -> Iterator[R]:
        pages = Pages(listing)
        while pages.has_more:
            for row in self.run(pages.next()):
                yield row

    def close(self) -> None:
        self._http.close()


class Over:
    """The base of objects whose calls go over a connection."""

    def __init__(self, connection: Connection, calls: Any) -> None:
        self._connection, self._calls = connection, calls


def value(calls: Callable[Concatenate[Calls, P], Steps[R]]) -> Callable[Concatenate[Over, P], R]:
    """Return the method that makes a call and returns its answer."""

    @wraps(calls)
    def method(self: Over, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._connection.run(calls(self._calls, *args, **kwargs))

    return method


def begun(
    calls: Callable[Concatenate[Calls, P], Steps[Any]],
) -> Callable[Concatenate[Over, P], Job]:
    """Return the method that makes a call and returns the job that the call began."""

    @wraps(calls)
    def method(self: Over, /, *args: P.args, **kwargs: P.kwargs) -> Job:
        return Job(self._connection, self._connection.run(calls(self._calls, *args, **kwargs)))

    return method


def rows(
    calls: Callable[Concatenate[Calls, P], Listing[R]],
) -> Callable[Concatenate[Over, P], Iterator[R]]:
    """Return the method that returns an iterator over a list. The iterator requests each page when
    it is needed.
    """

    @wraps(calls)
    def method(self: Over, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        return self._connection.rows(calls(self._calls, *args, **kwargs))

    return method


class Job(JobState):
    """Work that outlasts a call."""

    def __init__(self, connection: Connection, shown: Mapping[str, Any]) -> None:
        super().__init__(shown)
        self._connection = connection

    def look(self) -> Self:
        """Read the job's present state, and return the job."""
        self._connection.run(jobs.look(self))
        return self

    def wait(self, *, timeout: float = 300) -> Self:
        """Wait until the job is done, and return it. Raises `JobFailed`, or `JobNotEnded` after
        `timeout` seconds.
        """
        self._connection.run(jobs.wait(self, timeout=timeout))
        return self

    def retry(self) -> Job:
        """Start a failed job again, and return the new job. Raises `JobNotFailed` and
        `NothingToRetry`.
        """
        return Job(self._connection, self._connection.run(jobs.retry(self)))


class User(Over):
    """The memory of one user."""

    def __init__(self, connection: Connection, user_id: str) -> None:
        super().__init__(connection, UserCalls(user_id))
        self.id = user_id

    def session(self, name: str, **options: Any) -> Session:
        """Return the user's session with this name. Its id is made from user and name (`id_for`).
        The options are those of `Palimpsest.session`. Raises `InvalidId`.
        """
        return Session(
            self._connection, SessionCalls(id_for(self.id, name), user=self.id, **options)
        )

    read = value(UserCalls.read)
    profile = value(UserCalls.profile)
    set_names = value(UserCalls.set_names)
    recall = value(UserCalls.recall)
    feedback = value(UserCalls.feedback)
    reviews = rows(UserCalls.reviews)
    close_review = value(UserCalls.close_review)
    search = value(UserCalls.search)
    remember = value(UserCalls.remember)
    remember_all = value(UserCalls.remember_all)
    memories = rows(UserCalls.memories)
    memory = value(UserCalls.memory)
    change = value(UserCalls.change)
    history = rows(UserCalls.history)
    revert = value(UserCalls.revert)
    delete = value(UserCalls.delete)
    forget = begun(UserCalls.forget)
    would_forget = value(UserCalls.would_forget)
    sessions = rows(UserCalls.sessions)
    jobs = rows(UserCalls.jobs)
    call_tool = value(UserCalls.call_tool)
    erase = begun(UserCalls.erase)
    ingest_one = begun(UserCalls.ingest)
    learn = begun(UserCalls.learn)
    preferences = rows(UserCalls.preferences)
    preference = value(UserCalls.preference)
    prefer = value(UserCalls.prefer)
    delete_preference = value(UserCalls.delete_preference)
    delete_preferences = begun(UserCalls.delete_preferences)
    put_vectors = value(UserCalls.put_vectors)
    search_vectors = value(UserCalls.search_vectors)
    delete_vectors = value(UserCalls.delete_vectors)
    vector_stats = value(UserCalls.vector_stats)
    begin_export = begun(UserCalls.begin_export)
    begin_import = begun(UserCalls.begin_import)
    import_ = begun(UserCalls.import_)
    put_entities = value(UserCalls.put_entities)
    put_relationships = value(UserCalls.put_relationships)
    entities = rows(UserCalls.entities)
    relationships = rows(UserCalls.relationships)
    change_entity = value(UserCalls.change_entity)
    change_relationship = value(UserCalls.change_relationship)
    delete_entity = value(UserCalls.delete_entity)
    delete_relationship = value(UserCalls.delete_relationship)
    neighbors = value(UserCalls.neighbors)
    query_graph = value(UserCalls.query_graph)

    def exported(self) -> Iterator[dict[str, Any]]:
        """Yield all data of the user, a row at a time, as the service exports it: with ids and all
        versions, ready to be imported. Raises `JobFailed` and `JobNotEnded`.
        """
        job = self.begin_export(wait=LONGEST_WAIT)
        job.wait()
        for row in lines_of(job.files):
            yield row

    def export(self, path: str | PathLike[str]) -> int:
        """Write `exported` to a file of JSON Lines, and return the number of rows. The file is
        written whole or not at all.
        """
        return write_whole(path, self.exported())

    def ingest(
        self,
        source: str | PathLike[str] | Sequence[Said],
        *,
        session: str | None = None,
        progress: bool = False,
    ) -> list[Job]:
        """Store conversations, and return the jobs that extract memories from them. `source` is a
        list of messages, or a file (see `exchange.transcripts`). With `progress`, the progress is
        shown on standard error.

        Messages are never stored twice, so the same call continues an interrupted one.
        """
        shown = Counted(conversations(source, session), wanted=progress)
        return [self.ingest_one(messages, session=name) for name, messages in shown]


class Session(Over):
    """One conversation."""

    _calls: SessionCalls

    def __init__(self, connection: Connection, calls: SessionCalls) -> None:
        super().__init__(connection, calls)
        self.id = calls.id

    append = value(SessionCalls.append)
    context = value(SessionCalls.context)
    begun_context = value(SessionCalls.begun_context)
    say = value(SessionCalls.say)
    read = value(SessionCalls.read)
    begin = value(SessionCalls.begin)
    configure = value(SessionCalls.configure)
    messages = rows(SessionCalls.messages)
    message = value(SessionCalls.message)
    compactions = rows(SessionCalls.compactions)
    unfold = rows(SessionCalls.unfold)
    prune = value(SessionCalls.prune)
    extract = begun(SessionCalls.extract)
    empty_window = value(SessionCalls.empty_window)
    withdraw = begun(SessionCalls.withdraw)
    redact = begun(SessionCalls.redact)
    end = begun(SessionCalls.end)
    delete = begun(SessionCalls.delete)

    def answer(
        self, *replies: Said, on_text: OnText | None = None, key: str | None = None, **options: Any
    ) -> Turn:
        """Store the model's reply, and return the next turn. The reply is the result of an SDK, a
        message, a text, or a stream of either. Calls of our tools in the reply are run and stored
        with it. Pass results of your program's own tools as messages with the role `tool`.
        `on_text` is called with each piece of a stream.
        """
        messages = [reply_of(reply, on_text) for reply in replies]
        return self._connection.run(self._calls.answered(messages, key=key, **options))


class Palimpsest(Over):
    """The client of the service. It finds the service's address and key (`connection.find`). If a
    `transport` of httpx2 is given, requests go through it instead of over HTTP.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        where = find(url, api_key)
        self.url = where.url
        connection = Connection(where, timeout=timeout, transport=transport)
        super().__init__(connection, TenantCalls())

    health = value(TenantCalls.health)
    users = rows(TenantCalls.users)
    sessions = rows(TenantCalls.sessions)
    jobs = rows(TenantCalls.jobs)
    model_calls = rows(TenantCalls.model_calls)
    job = begun(TenantCalls.job)
    forget_sessions = begun(TenantCalls.forget_sessions)
    settings = value(TenantCalls.settings)
    replace_settings = value(TenantCalls.replace_settings)
    usage = rows(TenantCalls.usage)
    reviews = rows(TenantCalls.reviews)
    static_facts = rows(TenantCalls.static_facts)
    static_fact = value(TenantCalls.static_fact)
    put_static_fact = value(TenantCalls.put_static_fact)
    delete_static_fact = value(TenantCalls.delete_static_fact)
    tools = value(TenantCalls.tools)
    request = value(TenantCalls.request)

    def user(self, user_id: str) -> User:
        return User(self._connection, user_id)

    def session(
        self,
        session_id: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        memory: Mapping[str, Any] | None = None,
        tools: bool = True,
    ) -> Session:
        """Return a session by its id. Ids are unique within the tenant, so no two users have the
        same. The first append creates the session for `user`, with the configuration `memory`. With
        `tools`, its turns offer our tools to the model.
        """
        return Session(
            self._connection,
            SessionCalls(session_id, user=user, agent=agent, memory=memory, tools=tools),
        )

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
