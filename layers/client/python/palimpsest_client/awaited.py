"""The asynchronous client, for programs with an event loop. Its calls are awaited.

`write_blocking.py` writes `blocking.py`, the client for programs that wait, from this file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import anyio
import httpx2

from palimpsest_client import jobs
from palimpsest_client.calls import Listing, Pages, Pause, Send, Sent, Steps, advanced
from palimpsest_client.connection import LOST, TIMEOUT, Content, Endpoint, find, lost_of, options
from palimpsest_client.exchange import async_lines_of, async_write_whole, conversations
from palimpsest_client.http_client import AsyncHttp
from palimpsest_client.jobs import LONGEST_WAIT, JobState
from palimpsest_client.progress import Counted
from palimpsest_client.said import OnText, Said, async_reply_of
from palimpsest_client.sessions import SessionCalls, Turn, id_for
from palimpsest_client.tenants import TenantCalls
from palimpsest_client.users import UserCalls

P = ParamSpec("P")
R = TypeVar("R")
Calls = TypeVar("Calls")


class AsyncConnection:
    """Carries out steps, one after another. Safe to share between tasks or between threads."""

    def __init__(
        self, where: Endpoint, *, timeout: float, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._http = AsyncHttp({**options(where, timeout=timeout), "transport": transport})

    async def run(self, steps: Steps[R]) -> R:
        try:
            step = next(steps)
            while True:
                step = advanced(steps, await self._done(step))
        except StopIteration as end:
            result: R = end.value
            return result

    async def _done(self, step: Send | Pause) -> Sent | None:
        if isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            return None
        request: dict[str, Any] = {"json": step.body, "params": step.query, "headers": step.headers}
        http = await self._http.client()
        try:
            async with http.stream(step.method, step.path, **request) as answer:
                content = Content(answer)
                async for part in answer.aiter_bytes():
                    content.add(part)
                return content.sent
        except LOST as error:
            return lost_of(error)

    async def rows(self, listing: Listing[R]) -> AsyncIterator[R]:
        pages = Pages(listing)
        while pages.has_more:
            for row in await self.run(pages.next()):
                yield row

    async def close(self) -> None:
        await self._http.close()


class AsyncOver:
    """The base of objects whose calls go over a connection."""

    def __init__(self, connection: AsyncConnection, calls: Any) -> None:
        self._connection, self._calls = connection, calls


def value(
    calls: Callable[Concatenate[Calls, P], Steps[R]],
) -> Callable[Concatenate[AsyncOver, P], Coroutine[Any, Any, R]]:
    """Return the method that makes a call and returns its answer."""

    @wraps(calls)
    async def method(self: AsyncOver, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._connection.run(calls(self._calls, *args, **kwargs))

    return method


def begun(
    calls: Callable[Concatenate[Calls, P], Steps[Any]],
) -> Callable[Concatenate[AsyncOver, P], Coroutine[Any, Any, AsyncJob]]:
    """Return the method that makes a call and returns the job that the call began."""

    @wraps(calls)
    async def method(self: AsyncOver, /, *args: P.args, **kwargs: P.kwargs) -> AsyncJob:
        return AsyncJob(
            self._connection, await self._connection.run(calls(self._calls, *args, **kwargs))
        )

    return method


def rows(
    calls: Callable[Concatenate[Calls, P], Listing[R]],
) -> Callable[Concatenate[AsyncOver, P], AsyncIterator[R]]:
    """Return the method that returns an iterator over a list. The iterator requests each page when
    it is needed.
    """

    @wraps(calls)
    def method(self: AsyncOver, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        return self._connection.rows(calls(self._calls, *args, **kwargs))

    return method


class AsyncJob(JobState):
    """Work that outlasts a call."""

    def __init__(self, connection: AsyncConnection, shown: Mapping[str, Any]) -> None:
        super().__init__(shown)
        self._connection = connection

    async def look(self) -> Self:
        """Read the job's present state, and return the job."""
        await self._connection.run(jobs.look(self))
        return self

    async def wait(self, *, timeout: float = 300) -> Self:  # noqa: ASYNC109 - the server waits too
        """Wait until the job is done, and return it. Raises `JobFailed`, or `JobNotEnded` after
        `timeout` seconds.
        """
        await self._connection.run(jobs.wait(self, timeout=timeout))
        return self

    async def retry(self) -> AsyncJob:
        """Start a failed job again, and return the new job. Raises `JobNotFailed` and
        `NothingToRetry`.
        """
        return AsyncJob(self._connection, await self._connection.run(jobs.retry(self)))


class AsyncUser(AsyncOver):
    """The memory of one user."""

    def __init__(self, connection: AsyncConnection, user_id: str) -> None:
        super().__init__(connection, UserCalls(user_id))
        self.id = user_id

    def session(self, name: str, **options: Any) -> AsyncSession:
        """Return the user's session with this name. Its id is made from user and name (`id_for`).
        The options are those of `Palimpsest.session`. Raises `InvalidId`.
        """
        return AsyncSession(
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

    async def exported(self) -> AsyncIterator[dict[str, Any]]:
        """Yield all data of the user, a row at a time, as the service exports it: with ids and all
        versions, ready to be imported. Raises `JobFailed` and `JobNotEnded`.
        """
        job = await self.begin_export(wait=LONGEST_WAIT)
        await job.wait()
        async for row in async_lines_of(job.files):
            yield row

    async def export(self, path: str | PathLike[str]) -> int:
        """Write `exported` to a file of JSON Lines, and return the number of rows. The file is
        written whole or not at all.
        """
        return await async_write_whole(path, self.exported())

    async def ingest(
        self,
        source: str | PathLike[str] | Sequence[Said],
        *,
        session: str | None = None,
        progress: bool = False,
    ) -> list[AsyncJob]:
        """Store conversations, and return the jobs that extract memories from them. `source` is a
        list of messages, or a file (see `exchange.transcripts`). With `progress`, the progress is
        shown on standard error.

        Messages are never stored twice, so the same call continues an interrupted one.
        """
        shown = Counted(conversations(source, session), wanted=progress)
        return [await self.ingest_one(messages, session=name) for name, messages in shown]


class AsyncSession(AsyncOver):
    """One conversation."""

    _calls: SessionCalls

    def __init__(self, connection: AsyncConnection, calls: SessionCalls) -> None:
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

    async def answer(
        self, *replies: Said, on_text: OnText | None = None, key: str | None = None, **options: Any
    ) -> Turn:
        """Store the model's reply, and return the next turn. The reply is the result of an SDK, a
        message, a text, or a stream of either. Calls of our tools in the reply are run and stored
        with it. Pass results of your program's own tools as messages with the role `tool`.
        `on_text` is called with each piece of a stream.
        """
        messages = [await async_reply_of(reply, on_text) for reply in replies]
        return await self._connection.run(self._calls.answered(messages, key=key, **options))


class AsyncPalimpsest(AsyncOver):
    """The client of the service. It finds the service's address and key (`connection.find`). If a
    `transport` of httpx2 is given, requests go through it instead of over HTTP.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        where = find(url, api_key)
        self.url = where.url
        connection = AsyncConnection(where, timeout=timeout, transport=transport)
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

    def user(self, user_id: str) -> AsyncUser:
        return AsyncUser(self._connection, user_id)

    def session(
        self,
        session_id: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        memory: Mapping[str, Any] | None = None,
        tools: bool = True,
    ) -> AsyncSession:
        """Return a session by its id. Ids are unique within the tenant, so no two users have the
        same. The first append creates the session for `user`, with the configuration `memory`. With
        `tools`, its turns offer our tools to the model.
        """
        return AsyncSession(
            self._connection,
            SessionCalls(session_id, user=user, agent=agent, memory=memory, tools=tools),
        )

    async def close(self) -> None:
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
