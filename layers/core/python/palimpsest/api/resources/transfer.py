"""The operations that export and import the data of a user or of a whole tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, Closed, UserId, Wait, WaitSeconds
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.jobs import awaited
from palimpsest.api.resources.users import operation
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.scope import checked_id

MOST_PARTS = 10_000


class FromExport(Closed):
    """The files of an export of the same tenant, and of the same user."""

    export_job_id: Id


class FromUpload(Closed):
    """The parts that were sent under this upload id."""

    upload_id: Id


class ImportPart(Closed):
    data: Annotated[
        str, Field(min_length=1, description="Part of the lines of an export, cut anywhere")
    ]


class PartStored(TypedDict):
    upload_id: str
    part: int
    bytes: int


UploadId = Annotated[
    str, Path(description="A name that you choose for the upload", json_schema_extra=LIKE_AN_ID)
]

Part = Annotated[int, Path(ge=0, le=MOST_PARTS - 1, description="Place of the part, from 0")]


class TenantImport(Closed):
    data: Annotated[
        str | FromExport | FromUpload,
        Field(description="The lines of an export, up to 5 MB, or where they are"),
    ]
    wait: WaitSeconds = 0


class UserImport(Closed):
    format: Annotated[
        Literal["palimpsest", "mem0", "agentcore"],
        Field(description="The service that wrote `data`"),
    ] = "palimpsest"
    data: Annotated[
        str | FromExport | FromUpload | dict[str, Any] | list[Any],
        Field(
            description="The lines of an export, or the answer of mem0's get_all or AgentCore's"
            " ListEvents"
        ),
    ]
    wait: WaitSeconds = 0


class Imported(TypedDict):
    """The counts of an import that is done at once: stored, already stored, or in conflict."""

    job_id: None
    state: Literal["done"]
    result: Mapping[str, int]


@operation(
    "POST /v1/users/{user_id}/export",
    scopes=("read",),
    makes=True,
    answers={200: "JobDone", 202: "JobPending"},
)
def export_user(service: Service, call: Call, *, user_id: UserId, wait: Wait = 0) -> Response[str]:
    """Export a user.

    A job writes everything that is stored of the user as lines of JSON, with ids and all versions
    (docs/export.md). The job lists its `files` as addresses that work for an hour. The files are
    removed after seven days, and with the user.
    """
    return _exported(service, call, user_id, wait=wait)


@operation("POST /v1/export", scopes=("admin",), answers={200: "JobDone", 202: "JobPending"})
def export_tenant(service: Service, call: Call, *, wait: Wait = 0) -> Response[str]:
    """Export the tenant.

    Export all users of the tenant, one after the other, in the same form as the export of one user.
    """
    return _exported(service, call, None, wait=wait)


def _exported(service: Service, call: Call, user: str | None, *, wait: float) -> Response[str]:
    export, tenant = service.export, call.caller.tenant
    return awaited(
        service, call, call.made(lambda key: export(tenant, user=user, key=key)), wait=wait
    )


@operation(
    "POST /v1/users/{user_id}/import", answers={200: "JobDone | Imported", 202: "JobPending"}
)
def import_user(
    service: Service, call: Call, *, user_id: UserId, body: UserImport
) -> Imported | Response[str]:
    """Import a user.

    A job stores the contents of an export under the same ids. Things that are already stored stay,
    so a second import changes nothing. Every line is checked before anything is stored. With
    another `format`, memories or events of another service are stored at once.
    """
    if body.format != "palimpsest":
        foreign, scope = service.import_foreign, call.user(user_id)
        take: Callable[..., dict[str, int]] = (
            foreign.mem0 if body.format == "mem0" else foreign.agentcore
        )
        return {
            "job_id": None,
            "state": "done",
            "result": call.made(lambda _: take(scope, body.data)),
        }
    if not isinstance(body.data, str | FromExport | FromUpload):
        raise Unprocessable(
            "Send the lines of an export as one text.",
            errors=(FieldError("data", "must be a text"),),
        )
    return _imported(service, call, user_id, body.data, wait=body.wait)


@operation(
    "POST /v1/import",
    scopes=("admin",),
    answers={200: "JobDone", 202: "JobPending"},
    refuses=(404,),
)
def import_tenant(service: Service, call: Call, *, body: TenantImport) -> Response[str]:
    """Import a tenant.

    Import all users that the lines name, in the same way as the import of one user.
    """
    return _imported(service, call, None, body.data, wait=body.wait)


@operation("PUT /v1/users/{user_id}/import/{upload_id}/{part}", answers={200: "PartStored"})
def put_user_import_part(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    upload_id: UploadId,
    part: Part,
    body: ImportPart,
) -> PartStored:
    """Send a part of a user's import.

    A file that is larger than a request is sent in parts, and imported with `{"data": {"upload_id":
    …}}`. Parts are kept for a week. A part may be sent again.
    """
    return _put_part(service, call, user_id, upload_id, part=part, data=body.data)


@operation("PUT /v1/import/{upload_id}/{part}", scopes=("admin",), answers={200: "PartStored"})
def put_tenant_import_part(
    service: Service, call: Call, *, upload_id: UploadId, part: Part, body: ImportPart
) -> PartStored:
    """Send a part of a tenant's import.

    Works like sending a part of a user's import.
    """
    return _put_part(service, call, None, upload_id, part=part, data=body.data)


def _put_part(
    service: Service, call: Call, user: str | None, upload_id: str, *, part: int, data: str
) -> PartStored:
    tenant, upload = call.caller.tenant, checked_id(upload_id, field="upload_id")
    if user is not None:
        tenant.user(user)
    size = service.imports.put_part(tenant, upload, part, data, user=user)
    return {"upload_id": upload, "part": part, "bytes": size}


def _imported(
    service: Service,
    call: Call,
    user: str | None,
    data: str | FromExport | FromUpload,
    *,
    wait: float,
) -> Response[str]:
    imports, tenant = service.imports, call.caller.tenant

    def begun(key: str | None) -> str:
        if isinstance(data, str):
            return imports.of_text(tenant, data, user=user, key=key)
        if isinstance(data, FromUpload):
            return imports.of_upload(tenant, data.upload_id, user=user, key=key)
        return imports.of_export(tenant, data.export_job_id, user=user, key=key)

    return awaited(service, call, call.made(begun), wait=wait)
