"""The template beside that of each earlier release: an update loses nothing that is stored."""

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.infra.conftest import Synthesized, Template
from tests.releases.fixture import RELEASES, TEMPLATES, releases
from tests.releases.templates import INDEXES, TABLE, fixed, losses, stateful


def kept(release: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((RELEASES / release / TEMPLATES).read_text())
    return found


@pytest.mark.parametrize("release", releases())
def test_an_update_from_a_release_removes_and_replaces_nothing_that_holds_data(
    release: str, synthesized: Synthesized, prod_on_tables: Template
) -> None:
    now = {"dev": synthesized.dev, "prod": synthesized.prod, "prod-dynamodb": prod_on_tables}
    assert set(kept(release)) == set(now)
    for name, before in kept(release).items():
        assert len(before) > 20
        assert list(losses(before, stateful(now[name].body))) == [], name


def table_of(resources: Mapping[str, Any]) -> str:
    return next(name for name, each in resources.items() if INDEXES in each["Properties"])


def test_what_would_lose_data_or_be_refused_is_found() -> None:
    before = kept(releases()[-1])["prod"]
    name = table_of(before)
    changed = [copy.deepcopy(before) for _ in range(4)]
    del changed[0][name]
    changed[1][name]["Properties"]["TableName"] = "sessions"
    changed[2][name]["Properties"][INDEXES][0]["KeySchema"][0]["AttributeName"] = "colour"
    more = [{"IndexName": f"by_{each}", "KeySchema": []} for each in ("size", "colour")]
    changed[3][name]["Properties"][INDEXES] += more
    assert [list(losses(before, each)) for each in changed] == [
        [f"{name} is removed"],
        [f"{name} is replaced, because its TableName changes"],
        [f"{name} changes the index {before[name]['Properties'][INDEXES][0]['IndexName']}"],
        [f"{name} has 2 changes of indexes: by_colour, by_size"],
    ]
    del changed[3][name]["Properties"][INDEXES][-1]
    assert list(losses(before, changed[3])) == []  # one new index


def test_the_schemas_know_what_replaces_a_table() -> None:
    assert {"TableName", "KeySchema"} <= set(fixed(TABLE))
