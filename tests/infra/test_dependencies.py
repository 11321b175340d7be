import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion

from infra.dependencies import SHIPPED, audit, bill


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text(
        f"six==1.17.0 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\n"
    )
    return file


def test_the_bill_of_materials_names_every_locked_package_with_its_hashes(lock: Path) -> None:
    (component,) = json.loads(bill([lock]))["components"]
    assert component["purl"] == component["externalReferences"][0]["url"] == "pkg:pypi/six@1.17.0"
    assert [each["content"] for each in component["externalReferences"][0]["hashes"]] == [
        "a" * 64,
        "b" * 64,
    ]


def test_the_bill_of_materials_of_what_is_shipped_is_whole_and_valid() -> None:
    text = bill(SHIPPED)
    locked = {
        line.split(" ")[0]
        for file in SHIPPED
        for line in file.read_text().splitlines()
        if "==" in line
    }
    assert {
        f"{component['name']}=={component['version']}"
        for component in json.loads(text)["components"]
    } == locked
    assert json.loads(text)["specVersion"] == SchemaVersion.V1_6.to_version()


def test_a_known_weakness_fails_the_audit_and_is_named(lock: Path) -> None:
    known = {
        "name": "six",
        "version": "1.17.0",
        "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.18.0"]}],
    }
    with pytest.raises(SystemExit, match=r"six 1\.17\.0: PYSEC-1, mended in 1\.18\.0"):
        audit([lock], ask=lambda _: [known])


def test_an_audit_without_weaknesses_says_how_many_packages_it_asked_about(lock: Path) -> None:
    known: dict[str, Any] = {"name": "six", "version": "1.17.0", "vulns": []}
    assert audit([lock], ask=lambda _: [known]) == "No weakness is known of the 1 packages."


@pytest.mark.parametrize("said", [[], [{"name": "six", "skip_reason": "not found"}]])
def test_an_audit_that_reaches_nobody_fails_nothing_and_says_so(
    lock: Path, said: list[dict[str, Any]]
) -> None:
    assert audit([lock], ask=lambda _: said).startswith("NOT AUDITED: 1 of 1 packages")
