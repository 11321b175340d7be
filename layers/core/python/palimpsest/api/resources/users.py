"""The operations on users. They list, count, name and erase users."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, NotRequired, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from palimpsest import parallel
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import NOT_BLANK, Closed, Json, Moment, UserId, Wait, not_blank, rfc3339
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, listing
from palimpsest.api.resources.jobs import awaited
from palimpsest.memory.user_names import LONGEST, MOST_ALIASES, UserNames

operation = operations_on("users", function="memories")


class MemoryCounts(TypedDict):
    fact: int
    event: int
    instruction: int
    task: int
    preference: int
    total: int


class SessionCounts(TypedDict):
    active: int
    ended: int
    total: int


LastActivity = Annotated[
    Moment | None, Field(description="When a session was last written to; null without sessions")
]


Name = Annotated[
    str, Field(max_length=LONGEST, json_schema_extra=NOT_BLANK), AfterValidator(not_blank)
]


class UserNaming(Closed):
    name: Name | None = None
    aliases: Annotated[
        list[Name],
        Field(
            max_length=MOST_ALIASES,
            default_factory=list,
            description="Other names of the user in messages and transcripts",
        ),
    ]


UserName = Annotated[
    str | None, Field(description="The name that was set, or else the name that the user stated")
]


class NamedUser(TypedDict):
    user_id: str
    name: UserName
    aliases: Sequence[str]


class User(NamedUser):
    memories: Annotated[MemoryCounts, Field(description="Current memories by type")]
    sessions: SessionCounts
    last_activity: LastActivity


class ListedUser(TypedDict):
    user_id: str
    name: NotRequired[UserName]
    aliases: NotRequired[Sequence[str]]
    memories: NotRequired[MemoryCounts]
    sessions: NotRequired[SessionCounts]
    last_activity: NotRequired[LastActivity]


class UserPage(TypedDict):
    users: list[ListedUser]
    next_cursor: NextCursor


@operation("GET /v1/users", answers={200: "UserPage"})
def list_users(
    service: Service,
    call: Call,
    *,
    counts: Annotated[
        bool, Query(description="Add to each user what GET /v1/users/{user_id} returns")
    ] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List users.

    List the users who have had a session or a memory since they were last erased, ordered by id.
    """
    tenant, memories = call.caller.tenant.tenant, service.stores.memories

    def find(*, limit: int, after: str | None) -> tuple[Sequence[ListedUser | User], str | None]:
        page, following = memories.users(tenant, limit=limit, after=after)
        if counts:
            return parallel.run_each(partial(_counted, service, call), page), following
        return [{"user_id": user} for user in page], following

    return listing("users", find, dict, listed=(tenant, "users"), limit=limit, cursor=cursor)


@operation("GET /v1/users/{user_id}", answers={200: "User"})
def read_user(service: Service, call: Call, *, user_id: UserId) -> User:
    """Read a user.

    Return the user's names, the number of current memories of each type, and the number of
    sessions. All numbers are zero for an unknown user.
    """
    return _counted(service, call, user_id)


@operation("PUT /v1/users/{user_id}", scopes=("write",), answers={200: "NamedUser"}, refuses=(409,))
def name_user(service: Service, call: Call, *, user_id: UserId, body: UserNaming) -> NamedUser:
    """Name a user.

    Set the user's name and aliases. They replace the previous ones. A message, or a line of a
    transcript, with one of these names belongs to the user. Everybody else is another person, whose
    statements do not change a topic of the user. If neither a name nor an alias is given, the
    previous ones are removed.
    """
    aliases = [alias.strip() for alias in body.aliases]
    name = None if body.name is None else body.name.strip()
    return _named(user_id, service.names.set(call.user(user_id), name=name, aliases=aliases))


def _named(user_id: str, names: UserNames) -> NamedUser:
    name = names.name or next(iter(names.introduced), None)
    return {"user_id": user_id, "name": name, "aliases": names.aliases}


def _counted(service: Service, call: Call, user_id: str) -> User:
    scope = call.user(user_id)
    counts, activity = (
        service.manage_memories.counts(scope),
        service.list_sessions.activity(scope),
    )
    memories = cast("MemoryCounts", {**counts, "total": sum(counts.values())})
    total = activity.active + activity.ended
    return {
        **_named(user_id, service.names.of(scope)),
        "memories": memories,
        "sessions": {"active": activity.active, "ended": activity.ended, "total": total},
        "last_activity": None if activity.last is None else rfc3339(activity.last),
    }


@operation(
    "DELETE /v1/users/{user_id}", scopes=("admin",), answers={200: "UserErased", 202: "JobPending"}
)
def erase_user(service: Service, call: Call, *, user_id: UserId, wait: Wait = 0) -> Response[str]:
    """Erase a user.

    From this answer on, no data of the user can be read, found or recalled. A job removes the data.
    Its receipt shows what is done in each store, what remains where, and until when. Data that is
    stored later stays.
    """
    return awaited(service, call, service.erase(call.user(user_id)), wait=wait)
