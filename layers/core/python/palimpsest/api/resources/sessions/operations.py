"""The operations on sessions. They create, read, list, change, end, extract and delete sessions."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from palimpsest.api.answers import WouldForget, answered
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import (
    LIKE_AN_ID,
    Json,
    SessionId,
    Timestamp,
    Wait,
    as_sent,
    check_ids,
    milliseconds_of,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Find, Limit, Order, listing
from palimpsest.api.problems import naming
from palimpsest.api.resources.jobs import awaited, awaited_or_ended
from palimpsest.api.resources.sessions import shapes
from palimpsest.api.resources.sessions.shapes import (
    EndedSession,
    EndRequest,
    ExtractRequest,
    ForgetSessionsRequest,
    NewSession,
    SessionChange,
    SessionSetup,
)
from palimpsest.clock import milliseconds, stamp
from palimpsest.conversations.session import LiveSession
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory.conditions import TermTest, conditions, metadata_terms
from palimpsest.scope import SessionScope

operation = operations_on("sessions", function="sessions")

of_memories = operations_on("memories", function="sessions")

KeepMemories = Annotated[bool, Query(description="Keep every memory that was extracted from it")]


@operation("POST /v1/sessions", answers={201: "Session", 200: "Session"})
def create_session(service: Service, call: Call, *, body: NewSession) -> Response[str]:
    """Begin a session.

    Begin a session for a user. As long as the session has no messages, the same request returns it
    again with 200.
    """
    once = call.once
    session_id = body.session_id or f"ses_{once.call.name if once else uuid.uuid4().hex}"
    scope = call.session(session_id)
    with naming("memory"):
        session, is_new = service.manage.create(
            scope, user=body.user_id, agent=body.agent_id, wanted=body.wanted(), once=once
        )
    return answered(
        _shown(service, scope, session),
        status=HTTPStatus.CREATED if is_new else HTTPStatus.OK,
        shows=call.shows,
    )


@operation("GET /v1/sessions/{session_id}", answers={200: "Session"})
def read_session(service: Service, call: Call, *, session_id: SessionId) -> shapes.Session:
    """Read a session.

    Return the session's configuration, its window, its totals, whether a compaction is pending or
    has failed, and the last message that memories were extracted from.
    """
    scope = call.session(session_id)
    return _shown(service, scope, service.manage.read(scope))


def _shown(service: Service, scope: SessionScope, session: LiveSession) -> shapes.Session:
    return {**shapes.session(session), "last_extracted": _last_extracted(service, scope, session)}


def _last_extracted(
    service: Service, scope: SessionScope, session: LiveSession
) -> shapes.LastExtracted | None:
    head, report = session.head, service.report
    # numbers up to the base belong to an earlier session with this id
    has_messages = head.seq > head.base
    seq = report.through(scope.owner.user(head.user), session.id) if has_messages else 0
    if seq <= head.base:
        return None
    stored = () if head.is_withdrawn(seq) else service.stores.sessions.messages_at(scope, [seq])
    return {"seq": seq, "id": stored[0].id if stored else None}


@operation(
    "PUT /v1/sessions/{session_id}", answers={200: "Session", 201: "Session"}, refuses=(409,)
)
def replace_session(
    service: Service, call: Call, *, session_id: SessionId, body: SessionSetup
) -> Response[str]:
    """Configure a session anew.

    Replace system message, memory configuration and metadata. Fields that are left out return to
    their defaults. With a `user_id`, a session that does not exist is begun (201).
    """
    scope = call.session(session_id)
    with naming("memory"):
        session, is_new = service.manage.replace(
            scope, user=body.user_id, agent=body.agent_id, wanted=body.wanted()
        )
    return answered(
        _shown(service, scope, session),
        status=HTTPStatus.CREATED if is_new else HTTPStatus.OK,
        shows=call.shows,
    )


@operation("PATCH /v1/sessions/{session_id}", answers={200: "Session"}, refuses=(409,))
def change_session(
    service: Service, call: Call, *, session_id: SessionId, body: SessionChange
) -> shapes.Session:
    """Change a session.

    Change only the given fields. `memory` is merged field by field, `metadata` key by key. A null
    removes a field or key.
    """
    clear_system = "system" in body.model_fields_set and body.system is None
    scope = call.session(session_id)
    with naming("memory"):
        session = service.manage.patch(
            scope,
            user=body.user_id,
            agent=body.agent_id,
            wanted=body.wanted(),
            clear_system=clear_system,
        )
    return _shown(service, scope, session)


@operation("DELETE /v1/sessions/{session_id}", answers={200: "JobDone", 202: "JobPending"})
def delete_session(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    keep_memories: KeepMemories = False,
    wait: Wait = 0,
) -> Response[str]:
    """Delete a session.

    From this answer on, the session can't be read. A job removes its content, and the memories that
    have no other source.
    """
    return awaited(
        service,
        call,
        service.manage.delete(call.session(session_id), keep_memories=keep_memories),
        wait=wait,
    )


@operation("POST /v1/sessions/{session_id}/end", answers={200: "EndedSession"})
def end_session(
    service: Service, call: Call, *, session_id: SessionId, body: EndRequest
) -> EndedSession:
    """End a session.

    Mark the session as ended. The next append opens it again. If the session extracts memories
    automatically, a job extracts them from the remaining messages. The answer has the job's id and
    its state. The answer comes once the job has ended or `wait` seconds have passed.
    """
    scope = call.session(session_id)
    job_id = call.made(lambda _: [service.manage.end(scope)[1]])[0]
    job = (
        None
        if job_id is None
        else service.read_job(scope.owner, job_id, wait=call.patience(body.wait))
    )
    session = _shown(service, scope, service.manage.read(scope))
    return {**session, "job_id": job_id, "state": "done" if job is None else job.state}


@of_memories(
    "POST /v1/sessions/{session_id}/extract",
    answers={200: "JobDone | NothingExtracted", 202: "JobPending"},
)
def extract_session(
    service: Service, call: Call, *, session_id: SessionId, body: ExtractRequest
) -> Response[str]:
    """Extract memories from a session.

    A job extracts memories from the messages that came after the last extraction. With `if_needed`,
    the job is only started if enough turns wait. If no job is started, the answer is the last job,
    with `armed` false.
    """
    extract = service.extract
    if extract is None:
        raise Unprocessable("This service has no long-term memory.", code="no_long_term_memory")
    scope, turns = call.session(session_id), body.max_buffer_turns
    job = call.made(
        lambda _: asdict(extract(scope, if_needed=body.if_needed, max_buffer_turns=turns))
    )
    beside = {"session_id": session_id, "armed": job["armed"]}
    return awaited_or_ended(service, call, job["job_id"], wait=body.wait, beside=beside)


@operation("POST /v1/sessions/forget", answers={200: "JobDone | WouldForget", 202: "JobPending"})
def forget_sessions(
    service: Service, call: Call, *, body: ForgetSessionsRequest
) -> WouldForget | Response[str]:
    """Forget sessions.

    A job deletes every session that matches now. Sessions that begin later stay. With `dry_run`,
    which needs the scope `read`, nothing is deleted, and the answer lists the sessions that match.
    """
    from palimpsest.memory.removal.sessions import WhichSessions

    scope, forget = call.caller.tenant, service.forget_sessions
    which = WhichSessions(
        body.user_id,
        body.agent_id,
        body.status,
        _idle_since(body.older_than, now=service.clock.now()),
    )
    if body.dry_run:
        call.caller.require("read")
        ids = forget.matching(scope, which)
        return {"dry_run": True, "count": len(ids), "ids": ids}
    job_id = call.made(lambda key: forget(scope, which, keep_memories=body.keep_memories, key=key))
    return awaited(service, call, job_id, wait=body.wait)


def _idle_since(older_than: str | None, *, now: datetime) -> int | None:
    """Return a time, an age or a date in epoch milliseconds. Raises `Unprocessable` for a future
    time, because every session would be older.
    """
    if older_than is None:
        return None
    moment = shapes.moment_of(older_than, now=now)
    if moment > now:
        errors = (FieldError("older_than", "must be in the past"),)
        raise Unprocessable(
            "The request breaks the schema: older_than: must be in the past", errors=errors
        )
    return milliseconds(moment)


Span = tuple[int | None, int | None]
"""The beginning and end of a span of time, in epoch milliseconds. None sets no limit."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The filter of a list of sessions. It tests the owner, the state, the time when a session
    `began`, the time of anything said in it (`active`), and its metadata.
    """

    user: str | None
    agent: str | None
    status: Literal["active", "ended"] | None
    began: Span
    active: Span
    tests: tuple[TermTest, ...]

    def __call__(self, session: LiveSession) -> bool:
        head, settings = session.head, session.settings
        began = milliseconds_of(settings.created_at) or 0
        held = metadata_terms(settings.metadata, most=None) if self.tests else ()
        return (
            self.user in (None, head.user)
            and self.agent in (None, head.agent)
            and self.status in (None, head.status)
            and _overlaps(self.began, began, began)
            and _overlaps(self.active, began, head.updated_at)
            and all(test.passes(held) for test in self.tests)
        )


def _overlaps(span: Span, first: int, last: int) -> bool:
    since, until = span
    return (since is None or last >= since) and (until is None or first <= until)


@operation("GET /v1/sessions", function="memories", answers={200: "SessionPage"}, refuses=(413,))
def list_sessions(
    service: Service,
    call: Call,
    *,
    user_id: Annotated[
        str | None, Query(description="Only sessions of this user", json_schema_extra=LIKE_AN_ID)
    ] = None,
    agent_id: Annotated[
        str | None, Query(description="Only sessions of this agent", json_schema_extra=LIKE_AN_ID)
    ] = None,
    status: Annotated[
        Literal["active", "ended"] | None, Query(description="Only sessions in this state")
    ] = None,
    q: Annotated[
        str | None,
        Query(min_length=1, max_length=1_000, description="Words that occur in the session"),
    ] = None,
    created_after: Annotated[
        Timestamp | None, Query(description="Only sessions that began at this time or later")
    ] = None,
    created_before: Annotated[
        Timestamp | None, Query(description="Only sessions that began at this time or earlier")
    ] = None,
    after: Annotated[
        Timestamp | None, Query(description="Only sessions with a message from this time or later")
    ] = None,
    before: Annotated[
        Timestamp | None, Query(description="Only sessions that had begun by this time")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        Query(
            description="Only sessions with all these metadata, each as `name=value`; names may"
            " have dots"
        ),
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Json:
    """List sessions.

    List the sessions of the tenant or of a user, ordered by creation. With `q`, list the sessions
    in which these words occur within the given time, best match first. For a user, that is one
    page; without a user, there is one page for every 20 users.
    """
    from palimpsest.api.resources.filters import read_terms

    check_ids(user_id=user_id, agent_id=agent_id)
    terms = read_terms(as_sent(call, "metadata") if metadata else ()) or {}
    tests = tuple(condition.test for condition in conditions(terms))
    began, active = _span(created_after, created_before), _span(after, before)
    where = _Wanted(user_id, agent_id, status, began, active, tests)
    since, until = _stamped(created_after), _stamped(created_before)
    listed = (
        call.caller.tenant.tenant, "sessions", user_id, agent_id, status, since, until, order,
        active, sorted(terms.items(), key=str), q,
    )  # fmt: skip
    find: Find[LiveSession] = partial(_matching, service, call, q or "", where)
    if q is None:
        find = _by_creation(service, call, where, since=since, until=until, order=order)
    return listing("sessions", find, shapes.session, listed=listed, limit=limit, cursor=cursor)


def _span(after: str | None, before: str | None) -> Span:
    return milliseconds_of(after), milliseconds_of(before)


def _by_creation(
    service: Service,
    call: Call,
    where: _Wanted,
    *,
    since: str | None,
    until: str | None,
    order: Order,
) -> Find[LiveSession]:
    """Return a function that reads pages of the tenant's or a user's sessions, ordered by
    creation.
    """
    return partial(
        service.list_sessions,
        call.caller.tenant,
        user=where.user,
        agent=where.agent,
        status=where.status,
        since=since,
        until=until,
        where=where,
        newest_first=order == "desc",
    )


def _matching(
    service: Service, call: Call, words: str, where: _Wanted, *, limit: int, after: str | None
) -> tuple[Sequence[LiveSession], str | None]:
    """Return the sessions in which these words were said, the best match first."""
    from palimpsest.recall.search import MESSAGES

    tenant = call.caller.tenant
    messages = replace(MESSAGES, created_after=where.active[0], created_before=where.active[1])
    if where.user is None:
        ids, following = service.find_sessions.of_tenant(
            tenant, words, limit=limit, after=after, where=messages
        )
    else:
        ids, following = (
            service.find_sessions(tenant.user(where.user), words, limit=limit, where=messages),
            None,
        )
    return list(filter(where, service.list_sessions.opened(tenant, ids))), following


def _stamped(time: str | None) -> str | None:
    return None if time is None else stamp(datetime.fromisoformat(time).astimezone(UTC))
