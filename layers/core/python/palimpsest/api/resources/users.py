"""Users of the tenant: listed, counted, exported, imported and erased; and the whole tenant exported and imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest import parallel
from palimpsest.api import operations_on
from palimpsest.api.call import Call, call
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, listing
from palimpsest.api.resources import LIKE_AN_ID, Closed, Json, Moment, UserId, Wait, WaitSeconds, rfc3339
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.jobs import awaited
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.scope import checked_id

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


LastActivity = Annotated[Moment | None, Field(description="When a session was last written to; null without sessions")]


class User(TypedDict):
    user_id: str
    memories: Annotated[MemoryCounts, Field(description="Current memories by type")]
    sessions: SessionCounts
    last_activity: LastActivity


class ListedUser(TypedDict):
    user_id: str
    memories: NotRequired[MemoryCounts]
    sessions: NotRequired[SessionCounts]
    last_activity: NotRequired[LastActivity]


class UserPage(TypedDict):
    users: list[ListedUser]
    next_cursor: NextCursor


@operation("GET /v1/users", answers={200: "UserPage"})
def list_users(
    counts: Annotated[bool, Query(description="Each with what GET /v1/users/{user_id} answers")] = False,  # noqa: FBT002
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List users.

    The users who have had a session or a memory since they were last erased, ordered by id.
    """
    now = call()
    tenant, memories = now.caller.tenant.tenant, now.memory.stores.memories

    def find(*, limit: int, after: str | None) -> tuple[Sequence[ListedUser | User], str | None]:
        page, following = memories.users(tenant, limit=limit, after=after)
        if counts:
            return parallel.each(partial(_counted, now), page), following
        return [{"user_id": user} for user in page], following

    return listing("users", find, dict, listed=(tenant, "users"), limit=limit, cursor=cursor)


@operation("GET /v1/users/{user_id}", answers={200: "User"})
def read_user(user_id: UserId) -> User:
    """Read a user.

    The number of the user's current memories of each type and of sessions; all zero for an unknown user.
    """
    return _counted(call(), user_id)


def _counted(now: Call, user_id: str) -> User:
    scope = now.user(user_id)
    counts, activity = now.memory.manage_memories.counts(scope), now.memory.list_sessions.activity(scope)
    memories = cast("MemoryCounts", {**counts, "total": sum(counts.values())})
    total = activity.active + activity.ended
    return {
        "user_id": user_id,
        "memories": memories,
        "sessions": {"active": activity.active, "ended": activity.ended, "total": total},
        "last_activity": None if activity.last is None else rfc3339(activity.last),
    }


@operation("DELETE /v1/users/{user_id}", scopes=("admin",), answers={200: "UserErased", 202: "JobPending"})
def erase_user(user_id: UserId, wait: Wait = 0) -> Response[str]:
    """Erase a user.

    From this answer on nothing of the user can be read, found or recalled. A job removes it; its receipt shows what
    is done in each store, what remains where, and until when. What is stored later stays.
    """
    return awaited(call().memory.erase(call().user(user_id)), wait=wait)


MOST_PARTS = 10_000


class FromExport(Closed):
    """What an export of the same tenant, and of the same user, wrote."""

    export_job_id: Id


class FromUpload(Closed):
    """Parts that were sent under this id."""

    upload_id: Id


class ImportPart(Closed):
    data: Annotated[str, Field(min_length=1, description="Part of the lines of an export, cut anywhere")]


class PartStored(TypedDict):
    upload_id: str
    part: int
    bytes: int


UploadId = Annotated[str, Path(description="Name of the upload, of your own", json_schema_extra=LIKE_AN_ID)]
Part = Annotated[int, Path(ge=0, le=MOST_PARTS - 1, description="Place of the part, from 0")]


class TenantImport(Closed):
    data: Annotated[
        str | FromExport | FromUpload, Field(description="The lines of an export, up to 5 MB, or where they are")
    ]
    wait: WaitSeconds = 0


class UserImport(Closed):
    format: Annotated[Literal["palimpsest", "mem0", "agentcore"], Field(description="Who wrote `data`")] = "palimpsest"
    data: Annotated[
        str | FromExport | FromUpload | dict[str, Any] | list[Any],
        Field(description="The lines of an export; what mem0's get_all or AgentCore's ListEvents answered"),
    ]
    wait: WaitSeconds = 0


class Imported(TypedDict):
    """What was done at once: how much was stored, was there already, or has something else in its place."""

    job_id: None
    state: Literal["done"]
    result: Mapping[str, int]


@operation("POST /v1/users/{user_id}/export", scopes=("read",), makes=True, answers={200: "JobDone", 202: "JobPending"})
def export_user(user_id: UserId, wait: Wait = 0) -> Response[str]:
    """Export a user.

    A job writes everything that is stored of the user as lines of JSON, with ids and all versions: docs/export.md. The
    job names its `files`, each behind an address that works for an hour; they are removed after seven days, and with
    the user.
    """
    return _exported(user_id, wait=wait)


@operation("POST /v1/export", scopes=("admin",), answers={200: "JobDone", 202: "JobPending"})
def export_tenant(wait: Wait = 0) -> Response[str]:
    """Export the tenant.

    As the export of a user, for all users of the tenant, one after the other.
    """
    return _exported(None, wait=wait)


def _exported(user: str | None, *, wait: float) -> Response[str]:
    export, tenant = call().memory.export, call().caller.tenant
    return awaited(call().made(lambda key: export(tenant, user=user, key=key)), wait=wait)


@operation("POST /v1/users/{user_id}/import", answers={200: "JobDone | Imported", 202: "JobPending"})
def import_user(user_id: UserId, body: UserImport) -> Imported | Response[str]:
    """Import a user.

    A job stores what an export holds under the same ids; what is there already stays, so that a second import changes
    nothing. Every line is checked before anything is stored. With another `format`, memories or events of another
    service are stored at once.
    """
    if body.format != "palimpsest":
        foreign, scope = call().memory.import_foreign, call().user(user_id)
        take: Callable[..., dict[str, int]] = foreign.mem0 if body.format == "mem0" else foreign.agentcore
        return {"job_id": None, "state": "done", "result": call().made(lambda _: take(scope, body.data))}
    if not isinstance(body.data, str | FromExport | FromUpload):
        raise Unprocessable("Send the lines of an export as one text.", errors=(FieldError("data", "must be a text"),))
    return _imported(user_id, body.data, wait=body.wait)


@operation("POST /v1/import", scopes=("admin",), answers={200: "JobDone", 202: "JobPending"}, refuses=(404,))
def import_tenant(body: TenantImport) -> Response[str]:
    """Import a tenant.

    As the import of a user, for all users whom the lines name.
    """
    return _imported(None, body.data, wait=body.wait)


@operation("PUT /v1/users/{user_id}/import/{upload_id}/{part}", answers={200: "PartStored"})
def put_user_import_part(user_id: UserId, upload_id: UploadId, part: Part, body: ImportPart) -> PartStored:
    """Send a part of a user's import.

    What is larger than a request is sent in parts, and imported with `{"data": {"upload_id": …}}`. Parts are kept for a
    week, and may be sent again.
    """
    return _put_part(user_id, upload_id, part, body.data)


@operation("PUT /v1/import/{upload_id}/{part}", scopes=("admin",), answers={200: "PartStored"})
def put_tenant_import_part(upload_id: UploadId, part: Part, body: ImportPart) -> PartStored:
    """Send a part of a tenant's import.

    As the parts of a user's import.
    """
    return _put_part(None, upload_id, part, body.data)


def _put_part(user: str | None, upload_id: str, part: int, data: str) -> PartStored:
    tenant, upload = call().caller.tenant, checked_id(upload_id, field="upload_id")
    if user is not None:
        tenant.user(user)
    size = call().memory.imports.put_part(tenant, upload, part, data, user=user)
    return {"upload_id": upload, "part": part, "bytes": size}


def _imported(user: str | None, data: str | FromExport | FromUpload, *, wait: float) -> Response[str]:
    imports, tenant = call().memory.imports, call().caller.tenant

    def begun(key: str | None) -> str:
        if isinstance(data, str):
            return imports.of_text(tenant, data, user=user, key=key)
        if isinstance(data, FromUpload):
            return imports.of_upload(tenant, data.upload_id, user=user, key=key)
        return imports.of_export(tenant, data.export_job_id, user=user, key=key)

    return awaited(call().made(begun), wait=wait)
