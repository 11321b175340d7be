"""The operations on the whole tenant, as steps: its lists, settings and static facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palimpsest_client.calls import Listing, Steps, call
from palimpsest_client.types import (
    Deleted,
    Health,
    ListedJob,
    ListedUser,
    Session,
    StaticFact,
    TenantSettings,
    Used,
)

JSON = dict[str, Any]


class TenantCalls:
    def health(self) -> Steps[Health]:
        """Needs no key."""
        return call("GET", "health")

    def users(self, *, limit: int | None = None, counts: bool | None = None) -> Listing[ListedUser]:
        """Users with sessions or memories, with `counts` of them."""
        return Listing(("users",), "users", {"counts": counts}, limit)

    def sessions(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Session]:
        """Sessions, newest first, within the limits of the API (`user_id`, `agent_id`, `status`,
        `q` …).
        """
        return Listing(("sessions",), "sessions", limits, limit)

    def jobs(self, /, *, limit: int | None = None, **limits: Any) -> Listing[ListedJob]:
        """Jobs of a `user_id` or `session_id`, or with `state="failed"` all that failed; newest
        first.
        """
        return Listing(("jobs",), "jobs", limits, limit)

    def job(self, job_id: str) -> Steps[JSON]:
        """Raises `JobNotFound`; a job can be read for 30 days."""
        return call("GET", "jobs", job_id)

    def forget_sessions(self, /, *, wait: float | None = None, **limits: Any) -> Steps[JSON]:
        """Delete every session that matches (`user_id`, `agent_id`, `status`, `older_than` as in
        `30d`).
        """
        return call("POST", "sessions", "forget", body={**limits, "wait": wait})

    def settings(self) -> Steps[TenantSettings]:
        return call("GET", "settings")

    def replace_settings(self, /, **settings: Any) -> Steps[TenantSettings]:
        """Settings that are not named have their defaults again; None days are for ever. Needs the
        scope `admin`.
        """
        return call("PUT", "settings", body=settings)

    def usage(
        self, /, *, by: str = "day", limit: int | None = None, **period: str | None
    ) -> Listing[Used]:
        """The usage: a row for each `day` or `user`, or one in all (`tenant`), `from_` one date
        `to` another, optionally of one `user_id`. Needs the scope `admin`.
        """
        query = {name.rstrip("_"): value for name, value in period.items()}
        return Listing(("usage",), "usage", {"by": by, **query}, limit)

    def static_facts(self, *, limit: int | None = None) -> Listing[StaticFact]:
        """The tenant's statements to every agent, for all users."""
        return Listing(("static-facts",), "static_facts", {}, limit)

    def static_fact(self, fact_id: str) -> Steps[StaticFact]:
        """Raises `FactNotFound`."""
        return call("GET", "static-facts", fact_id)

    def put_static_fact(
        self, fact_id: str, content: Any, *, agent: str | None = None
    ) -> Steps[StaticFact]:
        """Needs the scope `admin`."""
        return call("PUT", "static-facts", fact_id, body={"content": content, "agent_id": agent})

    def delete_static_fact(self, fact_id: str) -> Steps[Deleted]:
        """Needs the scope `admin`."""
        return call("DELETE", "static-facts", fact_id)

    def tools(self, *, format: str = "openai") -> Steps[list[JSON]]:  # noqa: A002 - as the API calls it
        """The definitions of the tools that a model may be given, as an API of models takes
        them.
        """
        found = yield from call("GET", "tools", query={"format": format})
        tools: list[JSON] = found["tools"]
        return tools

    def request(
        self,
        method: str,
        *path: str | int,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Steps[Any]:
        """Any call of the API: `request("GET", "users", "sarah")`. Keys, repetition and errors are
        as everywhere.
        """
        return call(method, *path, body=body, query=query, key=key)
