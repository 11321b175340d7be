"""docs/architecture.md speaks of what is there: each function, each package in its order, and files
that exist.
"""

import re
import tomllib
from pathlib import Path

import pytest

from infra import paths

PAGE = (paths.PROJECT / "docs" / "architecture.md").read_text()
LIBRARY = paths.LAYERS / "core" / "python" / "palimpsest"
CHANGES = PAGE[PAGE.index("## I want to change") : PAGE.index("## Data")]
IN_CODE = re.compile(r"`([^`]+)`")


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if not set(line) <= set("|- :")
    ][1:]


def places() -> list[str]:
    """What the table names in code that has the form of a file or a folder."""
    named = [each for row in rows(CHANGES) for each in IN_CODE.findall(row[1])]
    return sorted(
        {each for each in named if re.fullmatch(r"[\w./-]+(\.py|/)|[\w-]+(/[\w.-]+)+", each)}
    )


def test_every_function_is_a_room() -> None:
    told = {IN_CODE.findall(row[0])[0] for row in rows(PAGE[: PAGE.index("## Packages")])}
    assert told == {file.parent.name for file in paths.FUNCTIONS.glob("*/handler.py")}


def test_the_packages_are_those_of_the_import_rules_in_their_order() -> None:
    (drawn,) = re.findall(r"^```text\n(wiring.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    contracts = tomllib.loads((paths.PROJECT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    told = [
        name
        for line in drawn.splitlines()
        for name in re.split(r" · ", line.split("  ")[0].strip())
    ]
    assert told == [name for layer in layers for name in re.split(r" [|:] ", layer)]


@pytest.mark.parametrize("place", places())
def test_what_the_table_of_changes_names_is_there(place: str) -> None:
    near: list[Path] = [LIBRARY, paths.PROJECT]
    near += [LIBRARY.parents[1].parent / "client" / "python" / "palimpsest_client"]
    assert any((folder / place).exists() or list(folder.glob(f"*/{place}")) for folder in near), (
        place
    )
