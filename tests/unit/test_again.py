"""A test that fails end to end is run once more, alone. Here small projects do it, each in a folder
of its own.
"""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import again

PROJECT = Path(__file__).parents[2]
FAILS_ONCE = """
def test_flaky_{name}(tmp_path_factory):
    from pathlib import Path
    marker = Path(__file__).with_name("{name}")
    had_run = marker.exists()
    marker.touch()
    assert had_run, "the first time"
"""
FAILS, PASSES = "def test_broken(): assert False\n", "def test_good(): pass\n"
SKIPS_LATER = FAILS_ONCE.replace(
    "    assert had_run", "    __import__('pytest').skip() if had_run else None\n    assert 0"
)


def ran(
    folder: Path, *tests: str, arguments: Sequence[str] = (), record: Path | None = None
) -> tuple[int, list[str]]:
    """How a run of these tests ends: with which code, and its lines."""
    (folder / "test_it.py").write_text("\n".join(tests))
    (folder / "pytest.ini").write_text("[pytest]\n")
    told = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("PYTEST", again.RECORD))
    }
    told |= {"PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    told |= {again.RECORD: str(record)} if record else {}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.again", *arguments]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=told, check=False, capture_output=True, text=True
    )  # noqa: RUF100, S603
    return done.returncode, (done.stdout + done.stderr).splitlines()


def flaky(*names: str) -> list[str]:
    return [FAILS_ONCE.format(name=name) for name in names]


def test_a_test_that_fails_and_then_passes_alone_is_forgiven_and_named_last(tmp_path: Path) -> None:
    code, lines = ran(tmp_path, *flaky("a"), PASSES)
    assert code == 0
    assert lines[-1].startswith(
        "flaky: test_it.py::test_flaky_a: failed, then passed alone; find the cause, and add"
    )
    assert lines[-2].startswith("1 passed, 1 flaky in ")
    assert any("the first time" in line for line in lines)  # how it failed is there


def test_a_test_that_fails_both_times_fails_the_run_beside_one_that_is_forgiven(
    tmp_path: Path,
) -> None:
    code, lines = ran(tmp_path, FAILS, *flaky("a"), PASSES)
    assert code == 1
    assert "not flaky: test_it.py::test_broken: failed, then failed alone" in lines[-2:]
    assert lines[-1].startswith("flaky: test_it.py::test_flaky_a: failed, then passed alone")
    assert lines[-3].startswith("1 failed, 1 passed, 1 flaky in ")


def test_two_are_forgiven_and_of_three_none_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "three").mkdir()
    code, lines = ran(tmp_path / "two", *flaky("a", "b"), PASSES)
    assert (code, [line.partition(":")[0] for line in lines[-2:]]) == (0, ["flaky", "flaky"])
    code, lines = ran(tmp_path / "three", *flaky("a", "b", "c"), PASSES)
    assert (code, lines[-1]) == (1, "3 failed: more than 2, so none is run once more")
    assert lines[-2].startswith("3 failed, 1 passed in ")


def test_the_runs_of_one_gate_forgive_two_together(tmp_path: Path) -> None:
    record = tmp_path / "record"
    outcomes = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        outcomes.append(ran(tmp_path / name, *flaky(name), record=record))
    assert [code for code, _ in outcomes] == [0, 0, 1]
    assert outcomes[-1][1][-1] == "1 failed and 2 before: more than 2, so none is run once more"
    assert record.read_text().splitlines() == [lines[-1] for _, lines in outcomes[:2]]


@pytest.mark.parametrize(
    ("tests", "arguments"),
    [
        ([*flaky("a"), PASSES], ["-x"]),  # not every test has run
        ([*flaky("a"), "import nothing_of_this_name\n"], ["--continue-on-collection-errors"]),
        ([SKIPS_LATER.format(name="a")], []),
        (["raise RuntimeError\n"], []),
    ],
    ids=["stopped", "not collected", "skipped later", "nothing collected"],
)
def test_nothing_is_forgiven_where_not_all_was_seen_to_pass(
    tmp_path: Path, tests: list[str], arguments: list[str]
) -> None:
    code, lines = ran(tmp_path, *tests, arguments=arguments)
    assert code != 0
    assert not [line for line in lines if line.startswith("flaky: ")]


def test_a_fixture_that_fails_once_makes_its_test_flaky_too(tmp_path: Path) -> None:
    fixture = "import pytest\n" + FAILS_ONCE.format(name="a").replace(
        "def test_flaky_a", "@pytest.fixture\ndef made"
    )
    code, lines = ran(tmp_path, fixture, "def test_it(made): pass\n")
    assert code == 0
    assert lines[-1].startswith("flaky: test_it.py::test_it: failed, then passed alone")


def test_the_list_of_flaky_tests_names_tests_that_are_there_each_with_cause_and_repair() -> None:
    seen = tomllib.loads((PROJECT / again.SEEN).read_text())["seen"]
    assert seen
    for each in seen:
        assert each.keys() == {"test", "cause", "repair"}
        file, _, name = each["test"].partition("::")
        tree = ast.parse((PROJECT / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
