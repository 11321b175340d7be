"""Decodes paths as an HTTP API on AWS does before it passes them on to functions. It decodes them
twice, and cuts them in between.

On AWS `/a%3Fb` arrives as `/a`, `/a%2Fb` and `/a%252Fb` as `/a/b`, `/a%253Fb` as `/a?b`. `/a%25zz`
is refused.
"""

import json
import re
from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from types import ModuleType
from typing import Any
from urllib.parse import unquote

NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
Answer = tuple[int, dict[str, str], bytes]


def passed_on(path: str) -> str | None:
    """Return the path that a function gets, or None if the gateway refuses it. MiniStack has
    already decoded `path` once, except `%25`.
    """
    once = path.replace("%25", "%").partition("?")[0]
    return None if NO_ESCAPE.search(once) else unquote(once)


def install(gateway: ModuleType) -> None:
    """Make MiniStack's gateway pass on each path as `passed_on` returns it. The gateway chooses the
    route, and reads its parameters, before the path is cut at a `?`. It is not known whether AWS
    does the same.
    """
    invoke: Callable[..., Awaitable[Answer]] = gateway._invoke_lambda_proxy  # noqa: SLF001 - there is no public way

    @wraps(invoke)
    async def decoding(
        integration: Any, api_id: str, stage: str, path: str, *rest: Any, **more: Any
    ) -> Answer:
        decoded = passed_on(path)
        if decoded is None:
            body = json.dumps({"message": HTTPStatus.BAD_REQUEST.phrase}).encode()
            return HTTPStatus.BAD_REQUEST.value, {"Content-Type": "application/json"}, body
        return await invoke(integration, api_id, stage, decoded, *rest, **more)

    gateway._invoke_lambda_proxy = decoding  # type: ignore[attr-defined]  # noqa: SLF001
