"""The release before this one reads each field that this one may store in an item."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from palimpsest.engines.dynamodb.memories.items import record_attributes, record_of
from palimpsest.memory.record import Record, Source
from palimpsest.scope import Scope

from tests.releases import before
from tests.releases.fixture import releases

SARAH = Scope("acme").user("sarah")
READ = """
import json, sys
from dataclasses import asdict
from palimpsest.engines.dynamodb.memories.items import record_of
print(json.dumps(asdict(record_of(json.load(sys.stdin)))))
"""
PLAIN = Record(
    id="mem_1",
    type="fact",
    content="Sarah lives in Hamburg.",
    source=Source(),
    valid_from=1,
    created_at=2,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("before")
    before.unpack(releases()[-1], folder)
    return folder / before.CORE


def item_of(record: Record) -> dict[str, Any]:
    keys = {"pk": {"S": SARAH.partition}, "sk": {"S": f"r#{record.id}"}}
    return {**keys, **record_attributes(SARAH, 0, record)}


def read_by(library: Path, item: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - this interpreter, on a kept library
        [sys.executable, "-c", READ],
        input=json.dumps(item),
        env={"PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def filled(value: Any, name: str) -> Any:
    """Another value of the same type than a field's own."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, tuple):
        return ("1a2b3c4d+",) if name == "opinions" else ("one",)
    return {"a": "b"} if isinstance(value, dict) else "other"


def test_a_rated_memory_is_read_by_the_release_before(library: Path) -> None:
    rated = replace(PLAIN, opinions=("1a2b3c4d+", "5e6f7a8b-"))
    assert record_of(item_of(rated)) == rated
    assert read_by(library, item_of(rated))["content"] == PLAIN.content


def test_a_record_with_a_value_in_every_field_is_read_by_the_release_before(library: Path) -> None:
    fixed = {"id", "type", "source", "version"}
    values = {
        field.name: filled(getattr(PLAIN, field.name), field.name)
        for field in fields(Record)
        if field.name not in fixed
    }
    found = read_by(library, item_of(replace(PLAIN, **values)))
    known = {name: value for name, value in values.items() if name in found}
    assert len(known) > 20
    assert found["content"] == values["content"]
