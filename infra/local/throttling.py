"""Lets the local AWS throttle the functions' calls to tables, as DynamoDB does, while a file asks
for it. The benchmark `storm` writes that file; `make start` never does.
"""

import json
import random
from pathlib import Path

from infra.local.guard import App, Receive, Scope, Send

FILE = "throttling.json"
CODE = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
TARGET = b"dynamodb_20120810."
OF_FUNCTIONS = b"x-amz-security-token"
"""The header of calls by functions. An operator's key has no session token."""


class Throttling:
    """Refuses the share of calls that the file holds as `share`, from 0 to 1."""

    def __init__(self, app: App, file: Path) -> None:
        self._app = app
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._is_refused(dict(scope["headers"])):
            body = json.dumps({"__type": CODE, "message": "Throttled"}).encode()
            headers = [(b"content-type", b"application/x-amz-json-1.0")]
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await self._app(scope, receive, send)

    def _is_refused(self, headers: dict[bytes, bytes]) -> bool:
        if not headers.get(b"x-amz-target", b"").lower().startswith(TARGET):
            return False
        return OF_FUNCTIONS in headers and random.random() < self._share()  # noqa: S311 - no secret

    def _share(self) -> float:
        try:
            return float(json.loads(self._file.read_text())["share"])
        except (OSError, ValueError):  # it is being written
            return 0


def installed(app: App, folder: Path) -> App:
    """Return the app, with throttling if the folder has the file when the local AWS starts."""
    file = folder / FILE
    return Throttling(app, file) if file.is_file() else app
