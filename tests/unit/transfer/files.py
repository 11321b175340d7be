"""Exports and imports as their callers make them, and files that somebody has changed in
between.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

Row = dict[str, Any]
MAKE_EXPORT = "/v1/users/sarah/export"


def exported(service: Service, call: Client, path: str = MAKE_EXPORT) -> str:
    """What an export writes."""
    job = call("POST", path).json["job_id"]
    service.drain()
    job_now = call("GET", f"/v1/jobs/{job}").json
    assert job_now["state"] == "done", job_now
    keys = [key for key in service.blobs.keys("exports/") if job in key]
    assert len(job_now["files"]) == len(keys)
    text = b"".join(service.blobs.get(key) or b"" for key in keys).decode()
    assert job_now["result"]["lines"] == text.count("\n")
    assert job_now["result"]["bytes"] == len(text.encode())
    return text


def imported(
    service: Service, call: Client, text: str, path: str = "/v1/users/sarah/import"
) -> dict[str, int]:
    answer = call("POST", path, {"data": text})
    assert answer.status == 202, answer.text
    service.drain()
    job = call("GET", f"/v1/jobs/{answer.json['job_id']}").json
    assert job["state"] == "done", job
    assert not list(service.blobs.keys("imports/"))
    result: dict[str, int] = job["result"]
    return result


def rows_of(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]


def text_of(rows: list[Row]) -> str:
    """The file of these rows, which says how many they are."""
    rows[-1] = {**rows[-1], "lines": len(rows)}
    return "".join(json.dumps(row) + "\n" for row in rows)


def changed(text: str, change: Callable[[list[Row]], object]) -> str:
    rows = rows_of(text)
    change(rows)
    return text_of(rows)


def of_kind(rows: list[Row], kind: str) -> Iterator[Row]:
    return (row for row in rows if row["kind"] == kind)


def sent(call: Client, text: str) -> Answer:
    return call("POST", "/v1/users/sarah/import", {"data": text})
