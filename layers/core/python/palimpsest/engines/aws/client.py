"""Clients of AWS services, which give up after a few seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from palimpsest.errors import Unavailable

CONNECT_SECONDS = 1.0  # the services are in the function's own region


def client(
    service: str, *, seconds: float, attempts: int, endpoint: str | None = None, **settings: Any
) -> Any:
    """Return a boto3 client of the service. It waits `seconds` for an answer and makes at most
    `attempts` attempts. `settings` are passed on to botocore's `Config`.
    """
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=seconds,
        retries={"mode": "standard", "total_max_attempts": attempts}, **settings,
    )  # fmt: skip
    return boto3.Session().client(service, endpoint_url=endpoint, config=config)  # type: ignore[call-overload]


@contextmanager
def answering(who: str) -> Iterator[None]:
    """Raise `Unavailable`, with `who` in the message, if an AWS call in this context fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Unavailable(f"{who} did not answer; try again.") from error
