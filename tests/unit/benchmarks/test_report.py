"""Results of some parts take the place of what stood there of them; nothing else moves."""

import os
import shlex
import subprocess

import pytest

from benchmarks.__main__ import arguments, goes_into_results
from benchmarks.report import amended
from infra import paths

RESULTS = "# Results\n\nIntro.\n\n## One\n\n| a |\n\n## Two\n\n- note\n"


def test_a_part_that_is_measured_again_takes_its_own_place() -> None:
    assert (
        amended(RESULTS, {"One": "## One\n\n| b |\n"})
        == "# Results\n\nIntro.\n\n## One\n\n| b |\n\n## Two\n\n- note\n"
    )


def test_a_new_part_comes_last() -> None:
    assert amended(RESULTS, {"Three": "## Three\n"}).endswith("## Two\n\n- note\n\n## Three\n")


@pytest.mark.parametrize(
    ("given", "is_written"), [("", False), ("--write", True), ("--quick --write", False)]
)
def test_make_cost_writes_into_the_results_only_if_asked(given: str, is_written: bool) -> None:  # noqa: FBT001
    make = ("make", "--dry-run", "cost", f"ARGS={given}")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ran = subprocess.run(  # noqa: S603
        make, cwd=paths.PROJECT, env=outside, check=True, capture_output=True, text=True
    )  # noqa: RUF100, S603
    recipe = ran.stdout
    _, _, said = recipe.rstrip().splitlines()[-1].partition(" -m benchmarks ")
    assert said.startswith("cost")
    assert goes_into_results(arguments(shlex.split(said))) == is_written


def test_the_page_of_costs_says_the_read_units_that_were_measured() -> None:
    results = (paths.PROJECT / "benchmarks" / "results.md").read_text()
    (measured,) = [
        part
        for part in results.split("\n## ")
        if part.startswith("A question by words in DynamoDB's")
    ]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in measured.splitlines()
        if line.startswith("|")
    ]
    units = dict(
        zip(
            *([row[rows[0].index(name)] for row in rows[2:]] for name in (rows[0][0], rows[0][4])),
            strict=True,
        )
    )
    said = [f"{round(float(units[documents]))} {between} {documents}" for documents, between in
            (("100", "read units among"), ("1,000", "among"), ("10,000", "among"))]  # fmt: skip
    assert (
        said[0] + " documents, " + ", ".join(said[1:])
        in (paths.PROJECT / "docs" / "cost.md").read_text()
    )


def test_a_run_beside_another_commit_is_not_written() -> None:
    assert not goes_into_results(arguments(["fresh", "--write", "--beside", "HEAD"]))
