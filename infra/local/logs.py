"""Prints what the functions of the local stack log."""

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from typing import NoReturn

from infra.operate import target

RUNTIME_LINES = ("START RequestId", "END RequestId", "REPORT RequestId")
FUNCTION = re.compile(r"/(\w+?)Log")
IDS = ("correlation_id", "function_request_id")
"""Fields that can hold the id of a request, the best first. Answers of the API have the
first one.
"""


def follow(*, as_json: bool) -> NoReturn:
    """Print what the functions logged in the last minute, and then what they log, until
    interrupted.
    """
    client = target.local().client("logs")
    since = int(time.time() * 1000) - 60_000
    seen: set[tuple[int, str, str]] = set()
    while True:
        groups = [group["logGroupName"] for group in client.describe_log_groups()["logGroups"]]
        lines = [
            (event["timestamp"], group, line)
            for group in groups
            for page in client.get_paginator("filter_log_events").paginate(
                logGroupName=group, startTime=since
            )
            for event in page["events"]
            for line in event["message"].splitlines()
        ]
        for at, group, line in sorted(
            (entry for entry in lines if entry not in seen), key=lambda entry: entry[0]
        ):
            if line.strip() and not line.startswith(RUNTIME_LINES):
                print(line if as_json else readable(line, group=group, at=at), flush=True)
        since, seen = max([since, *(at for at, _, _ in lines)]), set(lines)
        time.sleep(1)


def readable(line: str, *, group: str, at: int) -> str:
    """Return time, function, level, message and request id of one line. `at` is its time in
    milliseconds.
    """
    named = FUNCTION.search(group)
    begin = (
        f"{datetime.fromtimestamp(at / 1000):%H:%M:%S}  {(named[1] if named else group).lower():<9}"  # noqa: DTZ006 - of this machine
    )
    try:
        fields = json.loads(line)
        return "  ".join([begin, *_parts(fields)])
    except (ValueError, TypeError, KeyError):  # a line that no logger of ours wrote
        return f"{begin}  {line}"


def _parts(fields: dict[str, object]) -> Iterator[str]:
    yield f"{fields['level']!s:<7}"
    yield f"{fields['message']!s:<28}"
    request = next((fields[name] for name in IDS if fields.get(name)), "")
    yield f"{request!s}"
    if "exception_name" in fields:
        yield f"{fields['exception_name']!s}"
