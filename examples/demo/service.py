"""The demo's calls of the local stack, in a tenant of its own that is removed afterwards."""

import http.client
import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from infra.local import commands, endpoint, ministack
from infra.operate import target
from infra.operate.api_keys import ApiKeys, key_id

# Seconds for work after streams and queues, because functions may start on a busy machine.
PATIENCE = 240
WAIT = 20


class Service:
    """The service over HTTP. A refused call ends the demo with the text of the problem."""

    def __init__(self, url: str, key: str) -> None:
        place = urlsplit(url)
        self.url = url
        self._base = place.path
        self._key = key
        self._connection = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)

    def __call__(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, self._base + path, text, headers)
            answer = self._connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise SystemExit(f"{self.url} does not answer as it should: {error!r}") from error
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise SystemExit(
                f"{method} {path} was answered with {answer.status}: {content.get('detail', content)}"
            )
        return content

    def job(self, job_id: str) -> Any:
        """The job when it has ended, or as it is when the patience is over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            job = self("GET", f"/v1/jobs/{job_id}?wait={WAIT}")
            if job["state"] in ("done", "failed") or time.monotonic() > deadline:
                return job


@contextmanager
def own_tenant(users: Sequence[str]) -> Iterator[Service]:
    """The local stack, started if it does not run, for a tenant that nobody else has. At the end
    these users of it are erased, its static facts deleted and its key removed.
    """
    if ministack.running() is None or endpoint.read() is None:
        print(
            "The local stack does not run yet: starting it (a first time takes a minute or two).",
            flush=True,
        )
        commands.start(os.environ.get("PORT", ""), os.environ.get("SEARCH", ""))
    running = endpoint.read()
    assert running is not None
    place = target.local()
    keys = ApiKeys(place, place.outputs()["TenantsTable"])
    key = keys.create(
        f"demo-{uuid.uuid4().hex[:8]}", scopes=commands.SCOPES, label="make demo", expires_days=1
    )
    service = Service(running.url, key)
    try:
        yield service
    finally:
        try:
            for user in users:
                service.job(service("DELETE", f"/v1/users/{user}")["job_id"])
            for fact in service("GET", "/v1/static-facts")["static_facts"]:
                service("DELETE", f"/v1/static-facts/{fact['id']}")
        finally:
            keys.remove(key_id(key))
