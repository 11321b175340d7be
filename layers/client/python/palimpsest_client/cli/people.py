"""Commands on the users of a tenant, and on their preferences."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.cli import shown
from palimpsest_client.cli.options import AsJson, Most, User


def users(limit: Most = 50, json_: AsJson = False) -> None:
    """List the users who have sessions or memories, with the number of sessions and of memories."""
    columns = {
        "id": "user_id",
        "name": "name",
        "memories": "memories.total",
        "sessions": "sessions.total",
        "last": "last_activity",
    }
    shown.rows(Palimpsest().users(limit=limit, counts=True), columns, json_wanted=json_)


def prefer(
    user: User,
    key: Annotated[
        str | None, typer.Argument(help="The key of a preference. Default: list all.")
    ] = None,
    value: Annotated[str | None, typer.Argument(help="Its value, as JSON or as a text.")] = None,
    json_: AsJson = False,
) -> None:
    """List the preferences of a user, show one of them, or set it."""
    sarah = Palimpsest().user(user)
    if key is None:
        preferences: Any = sarah.preferences()
    elif value is None:
        preferences = [sarah.preference(key)]
    else:
        preferences = sarah.prefer({key: _value(value)})
    shown.rows(preferences, {"key": "key", "value": "value", "at": "updated_at"}, json_wanted=json_)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
