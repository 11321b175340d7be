"""The address and key of the local stack, in a file of the local folder. This module also waits
until the stack answers.
"""

import json
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from infra import paths
from infra.local.processes import CannotRun

ANSWER_SECONDS = 240  # seconds on a very busy machine; a quiet one needs two


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint of the local stack. `url` is the address of the service, `api_key` is a key for
    it, and `aws_endpoint` is the address of the local AWS.
    """

    url: str
    api_key: str
    stack: str
    aws_endpoint: str


def file() -> Path:
    return paths.local_state() / "endpoint.json"


def read() -> Endpoint | None:
    """Return the endpoint of the last start, or None if there was no start."""
    try:
        return Endpoint(**json.loads(file().read_text()))
    except FileNotFoundError:
        return None


def write(endpoint: Endpoint) -> None:
    paths.private(file().parent)
    paths.write_private(file(), json.dumps(asdict(endpoint), indent=2) + "\n")  # it holds a key


def wait(url: str, *, key: str = "") -> None:
    """Wait until the URL answers 200. Raises `CannotRun` if it does not answer in time."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        answer = _answer(url, key=key)
        if answer == "200":
            return
        if time.monotonic() > deadline:
            raise CannotRun(
                f"The service does not answer ({answer}); `make logs` shows what its functions log."
            )
        time.sleep(0.1)


def _answer(url: str, *, key: str) -> str:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own address on loopback
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return str(answer.status)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read(300).decode(errors='replace')}"
    except OSError as error:
        return str(error)
