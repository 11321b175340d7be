"""boto3's clients, which give up in seconds where they would wait for minutes, and their errors as the library's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from palimpsest.errors import Unavailable

CONNECT_SECONDS = 1.0


def client(service: str, *, seconds: float, attempts: int, endpoint: str | None = None, **settings: Any) -> Any:
    """A client of the service: `seconds` until an answer, and so many `attempts`. `settings` are those of botocore's
    `Config`.
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
    """Raise `Unavailable` for whatever keeps `who` from answering."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Unavailable(f"{who} did not answer; try again.") from error
