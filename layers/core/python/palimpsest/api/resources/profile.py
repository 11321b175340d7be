"""The operation that returns the profile of a user, as JSON or as text."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import answered
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Moment, UserId, rfc3339
from palimpsest.api.operations import operations_on
from palimpsest.profile.kinds import SectionKind
from palimpsest.profile.profile import Profile, ProfileLine

operation = operations_on("users", function="memories")

TEXT = "text/plain; charset=utf-8"
FRESH = {"Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
"""Headers that allow the caller's own cache to keep the answer. The cache must ask each time
whether the answer is current.
"""

Format = Annotated[
    Literal["json", "text"] | None,
    Query(description="`text` is plain text. Default: as the header `Accept` asks, else JSON"),
]

Ids = Annotated[
    bool,
    Query(description="Whether the text shows the id of each memory; without ids more lines fit"),
]


class UserProfileLine(TypedDict):
    memory_id: str
    text: Annotated[str, Field(description="The statement, at most 160 characters of it")]
    topic_key: str | None
    subject: Annotated[
        str | None,
        Field(
            description="Under `people`, the person that the line is about; else null, for the user"
        ),
    ]
    due_at: Annotated[
        Moment | None,
        Field(
            description="The end of the day of a task, or of the last day of something that lasts; "
            "null without a day"
        ),
    ]
    rests_on_changed: Annotated[
        bool, Field(description="Whether the statement rests on another one that has changed")
    ]


class UserProfileSection(TypedDict):
    kind: SectionKind
    lines: list[UserProfileLine]


class UserProfile(TypedDict):
    """A page about a user. `text` has the lines of all sections, in the same form as the answer in
    plain text.
    """

    user_id: str
    sections: list[UserProfileSection]
    text: str
    tokens: Annotated[int, Field(description="The tokens of the text, at most 400")]
    complete: Annotated[bool, Field(description="False if some lines did not fit")]


@operation("GET /v1/users/{user_id}/profile", answers={200: "UserProfile", 304: ""})
def read_profile(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    format: Format = None,  # noqa: A002 - as the API calls it
    ids: Ids = True,
) -> Response[str]:
    """Read who a user is.

    Return a page of at most 400 tokens, made without a model. It has current topics by kind,
    instructions, preferences, people and open tasks, each line with the id of its memory. The order
    is stable, and a change changes few lines. The page of an unknown user is empty. With
    `If-None-Match` and the `ETag` of an earlier answer, the answer is 304 if nothing has changed.
    With `Accept: text/plain` or `format=text`, the answer is plain text.
    """
    profile = service.profile(call.user(user_id), shows_ids=ids)
    is_text = format == "text" or (format is None and _prefers_text(call))
    tag = etag(profile, user_id, form="text" if is_text else "json")
    headers = {"ETag": tag, **FRESH}
    if _has(call, tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, body="", headers=dict(headers))
    if is_text:
        return Response(
            status_code=HTTPStatus.OK, content_type=TEXT, body=profile.text, headers=dict(headers)
        )
    return answered(shown(profile, user_id), shows=call.shows, headers=dict(headers))


def shown(profile: Profile, user_id: str) -> UserProfile:
    sections: list[UserProfileSection] = [
        {"kind": section.kind, "lines": list(map(_line, section.lines))}
        for section in profile.sections
    ]
    return {
        "user_id": user_id,
        "sections": sections,
        "text": profile.text,
        "tokens": profile.tokens,
        "complete": profile.is_complete,
    }


def _line(line: ProfileLine) -> UserProfileLine:
    return {
        "memory_id": line.memory_id,
        "text": line.text,
        "topic_key": line.topic_key,
        "subject": line.subject,
        "due_at": None if line.due_at is None else rfc3339(line.due_at),
        "rests_on_changed": line.rests_on_changed,
    }


def etag(profile: Profile, user_id: str, *, form: str) -> str:
    """Return the entity tag of the profile in this form."""
    parts = "\x1f".join((form, user_id, profile.text, str(profile.is_complete)))
    return f'"{hashlib.sha256(parts.encode()).hexdigest()[:32]}"'


def _prefers_text(call: Call) -> bool:
    """Return whether the header `Accept` prefers plain text to JSON."""
    weights = _weights(call.request["headers"].get("accept", ""))
    text = weights.get("text/plain", weights.get("text/*", 0.0))
    json = weights.get("application/json", weights.get("application/*", weights.get("*/*", 0.0)))
    return text > json or (text > 0 and "application/json" not in weights and text == json)


def _weights(accept: str) -> dict[str, float]:
    """Return the media types of an `Accept` header, with their quality."""
    weights = {}
    for media_type in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in media_type.split(";"))
        qualities = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        try:
            weights[kind] = float(qualities[0]) if qualities else 1.0
        except ValueError:
            weights[kind] = 1.0
    return weights


def _has(call: Call, tag: str) -> bool:
    """Return whether the caller's `If-None-Match` header names this tag. A weak tag counts as the
    same.
    """
    header = call.request["headers"].get("if-none-match", "")
    named = {sent.strip().removeprefix("W/") for sent in header.split(",")}
    return tag in named or "*" in named
