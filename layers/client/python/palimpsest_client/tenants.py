"""The operations on the whole tenant, as steps (`calls`): its lists, settings and static facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palimpsest_client.calls import Listing, Steps, call
from palimpsest_client.types import (
    Deleted,
    Health,
    ListedJob,
    ListedUser,
    ModelCall,
    Review,
    Session,
    StaticFact,
    TenantSettings,
    Used,
)

JSON = dict[str, Any]


class TenantCalls:
    def health(self) -> Steps[Health]:
        """Return whether the service works. Needs no key."""
        return call("GET", "health")

    def users(self, *, limit: int | None = None, counts: bool | None = None) -> Listing[ListedUser]:
        """List the users who have sessions or memories. With `counts`, each has the numbers of
        these.
        """
        return Listing(("users",), "users", {"counts": counts}, limit)

    def sessions(self, /, *, limit: int | None = None, **limits: Any) -> Listing[Session]:
        """List sessions, newest first, filtered as in the API (`user_id`, `agent_id`, `status`, `q`
        …).
        """
        return Listing(("sessions",), "sessions", limits, limit)

    def jobs(self, /, *, limit: int | None = None, **limits: Any) -> Listing[ListedJob]:
        """List the jobs of a `user_id` or `session_id`, or with `state="failed"` all failed jobs.
        The newest comes first.
        """
        return Listing(("jobs",), "jobs", limits, limit)

    def job(self, job_id: str) -> Steps[JSON]:
        """Return a job. It can be read for 30 days. Raises `JobNotFound`."""
        return call("GET", "jobs", job_id)

    def model_calls(self, job_id: str, *, limit: int | None = None) -> Listing[ModelCall]:
        """List the prompts and answers of a job's model calls, oldest first. It is empty unless the
        settings have `keep_model_calls`. Raises `JobNotFound`.
        """
        return Listing(("jobs", job_id, "calls"), "calls", {}, limit)

    def forget_sessions(self, /, *, wait: float | None = None, **limits: Any) -> Steps[JSON]:
        """Delete every session that matches (`user_id`, `agent_id`, `status`, `older_than` as in
        `30d`).
        """
        return call("POST", "sessions", "forget", body={**limits, "wait": wait})

    def settings(self) -> Steps[TenantSettings]:
        return call("GET", "settings")

    def replace_settings(self, /, **settings: Any) -> Steps[TenantSettings]:
        """Replace the settings. Settings that are not given get their defaults. A number of days
        that is None means for ever. Needs the scope `admin`.
        """
        return call("PUT", "settings", body=settings)

    def reviews(self, *, limit: int | None = None) -> Listing[Review]:
        """List the open reviews of all users."""
        return Listing(("reviews",), "reviews", {}, limit)

    def usage(
        self, /, *, by: str = "day", limit: int | None = None, **period: str | None
    ) -> Listing[Used]:
        """List the usage from the date `from_` to the date `to`, with a row for each `day` or
        `user`, or one row in total (`tenant`). With `user_id`, only this user's usage counts. Needs
        the scope `admin`.
        """
        query = {name.rstrip("_"): value for name, value in period.items()}
        return Listing(("usage",), "usage", {"by": by, **query}, limit)

    def static_facts(self, *, limit: int | None = None) -> Listing[StaticFact]:
        """List the tenant's static facts. Agents get them in the contexts of all users."""
        return Listing(("static-facts",), "static_facts", {}, limit)

    def static_fact(self, fact_id: str) -> Steps[StaticFact]:
        """Return a static fact. Raises `FactNotFound`."""
        return call("GET", "static-facts", fact_id)

    def put_static_fact(
        self, fact_id: str, content: Any, *, agent: str | None = None
    ) -> Steps[StaticFact]:
        """Store a static fact. Needs the scope `admin`."""
        return call("PUT", "static-facts", fact_id, body={"content": content, "agent_id": agent})

    def delete_static_fact(self, fact_id: str) -> Steps[Deleted]:
        """Remove a static fact. Needs the scope `admin`."""
        return call("DELETE", "static-facts", fact_id)

    def tools(self, *, format: str = "openai") -> Steps[list[JSON]]:  # noqa: A002 - as the API calls it
        """Return the definitions of the tools for a model, in the format of a model's API."""
        answer = yield from call("GET", "tools", query={"format": format})
        tools: list[JSON] = answer["tools"]
        return tools

    def request(
        self,
        method: str,
        *path: str | int,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Steps[Any]:
        """Make any call of the API: `request("GET", "users", "sarah")`. Keys, repetition and errors
        are those of all other calls.
        """
        return call(method, *path, body=body, query=query, key=key)
