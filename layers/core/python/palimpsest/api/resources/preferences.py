"""The operations on a user's preferences, which are JSON values under keys. Each preference is also
a memory, which contexts show and recall finds.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import Deleted, answered
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, Closed, Json, JsonValue, Moment, UserId, Wait, rfc3339
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, listing
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.jobs import awaited
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.preferences import key_of
from palimpsest.memory.record import Record
from palimpsest.memory.remember import MAX_STATEMENTS

operation = operations_on("preferences", function="memories")

Key = Annotated[str, Path(description="Key of the preference", json_schema_extra=LIKE_AN_ID)]
ALL = MemoryFilter(types=frozenset({"preference"}))


class PreferenceValue(Closed):
    value: JsonValue


class NewPreferences(Closed):
    preferences: Annotated[
        dict[Id, JsonValue],
        Field(
            min_length=1,
            max_length=MAX_STATEMENTS,
            description="Values by key; all other preferences stay",
        ),
    ]


class Preference(TypedDict):
    key: str
    value: Annotated[Any, Field(description="The JSON value as it was set")]
    memory_id: Annotated[
        str,
        Field(
            description="Id of the memory that stores it; by this id its history can be read, and "
            "an earlier version made current"
        ),
    ]
    updated_at: Moment


class Preferences(TypedDict):
    preferences: list[Preference]


class PreferencePage(Preferences):
    next_cursor: NextCursor


@operation("GET /v1/users/{user_id}/preferences", answers={200: "PreferencePage"}, refuses=(413,))
def list_preferences(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List preferences.

    Return the preferences of the user, ordered by key. There are at most 500.
    """
    scope = call.user(user_id)
    find = partial(service.preferences.listed, scope)
    return listing(
        "preferences",
        find,
        _shown,
        listed=(scope.partition, "preferences"),
        limit=limit,
        cursor=cursor,
    )


@operation("PUT /v1/users/{user_id}/preferences", answers={200: "Preferences"}, refuses=(409,))
def put_preferences(
    service: Service, call: Call, *, user_id: UserId, body: NewPreferences
) -> Preferences:
    """Set preferences.

    Set 1 to 30 values by key; preferences that are not named stay as they are.
    """
    made = service.preferences.set(call.user(user_id), body.preferences)
    return {"preferences": [_shown(decision.record) for decision in made]}


@operation("DELETE /v1/users/{user_id}/preferences", answers={200: "JobDone", 202: "JobPending"})
def delete_preferences(
    service: Service, call: Call, *, user_id: UserId, wait: Wait = 0
) -> Response[str]:
    """Delete all preferences.

    A job removes every preference that the user has now, with all versions.
    """
    return awaited(service, call, service.forget(call.user(user_id), ALL), wait=wait)


@operation("GET /v1/users/{user_id}/preferences/{key}", answers={200: "Preference"})
def read_preference(service: Service, call: Call, *, user_id: UserId, key: Key) -> Preference:
    """Read a preference.

    Return the value that was last set under this key.
    """
    return _shown(service.preferences.read(call.user(user_id), key))


@operation(
    "PUT /v1/users/{user_id}/preferences/{key}",
    answers={201: "Preference", 200: "Preference"},
    refuses=(409,),
)
def put_preference(
    service: Service, call: Call, *, user_id: UserId, key: Key, body: PreferenceValue
) -> Response[str]:
    """Set a preference.

    The value is any JSON up to 16 KB. It is kept until it is deleted; earlier values stay in the
    history of `memory_id`. The answer is 201 for a new value and 200 for an unchanged value.
    """
    (made,) = service.preferences.set(call.user(user_id), {key: body.value})
    is_new = made.outcome == "created"
    return answered(
        _shown(made.record),
        status=HTTPStatus.CREATED if is_new else HTTPStatus.OK,
        shows=call.shows,
    )


@operation("DELETE /v1/users/{user_id}/preferences/{key}", answers={200: "Deleted"})
def delete_preference(service: Service, call: Call, *, user_id: UserId, key: Key) -> Deleted:
    """Delete a preference.

    Remove a preference for good, with all its versions.
    """
    service.preferences.delete(call.user(user_id), key)
    return {"id": key, "deleted": True}


def _shown(record: Record) -> Preference:
    return {
        "key": key_of(record.topic_key or ""),
        "value": record.data,
        "memory_id": record.id,
        "updated_at": rfc3339(record.valid_from),
    }
