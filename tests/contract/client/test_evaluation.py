"""`palimpsest eval`: recall on questions of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from palimpsest_client import Palimpsest
from palimpsest_client.cli.commands import app
from palimpsest_client.cli.evaluation import Outcome, Question, figures
from typer.testing import CliRunner

from tests.served import KEY, Served


@pytest.fixture(autouse=True)
def _there(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_URL", served.url)
    monkeypatch.setenv("PALIMPSEST_API_KEY", KEY)
    monkeypatch.setenv("PALIMPSEST_USER", "sarah")
    monkeypatch.chdir(tmp_path)


def measured(*rows: Any, output: str = "report.md") -> Any:
    Path("questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["eval", "questions.jsonl", "--json", "--output", output]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def test_recall_silence_and_failures_are_measured(memory: Palimpsest) -> None:
    saved = memory.user("sarah").remember("Sarah lives in Bremen.")
    memory.user("tom").remember("Tom plays chess.")
    found = measured(
        {"question": "Where does Sarah live?", "expected": "bremen"},
        {"question": "Where does Sarah live?", "expected": [saved["id"], "Hamburg"]},
        {"user": "tom", "question": "Who plays chess?", "expected": ["Tom"]},
        {"question": "Which motorcycle?", "expected": []},
    )
    assert found["questions"] == 4
    assert found["recall@1"] == found["recall@10"] == pytest.approx(2.5 / 3, abs=1e-4)
    assert (found["MRR"], found["silence"], found["without an answer"]) == (1.0, 1.0, 1)
    (failed,) = found["failed"]
    assert failed["found"] == ["Sarah lives in Bremen."]
    report = Path("report.md").read_text()
    assert "| recall@5 | 0.8333 |" in report
    assert "## Where does Sarah live?" in report
    assert "Expected: " in report


def test_measures_follow_the_places_of_what_was_expected() -> None:
    rows = [{"id": f"m{n}", "content": f"Text {n}"} for n in range(1, 11)]
    late = Outcome(Question("u", "q", ("text 4", "m7")), rows)
    wrong = Outcome(Question("u", "q", ()), rows[:1])
    assert (late.share(1), late.share(5), late.share(10), late.reciprocal) == (0, 0.5, 1, 0.25)
    found = figures([late, wrong])
    assert (found["recall@5"], found["MRR"], found["silence"]) == (0.5, 0.25, 0.0)
    assert figures([wrong])["recall@1"] is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1 is not JSON"),
        ('{"question": " "}', "line 1 has no question"),
        ('{"question": "x"}', "`expected` is a text or a list"),
        ('{"question": "x", "expected": [""]}', "`expected` is a text or a list"),
        ('{"question": "x", "expected": [], "user": 7}', "names no user"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_before_anything_is_asked(
    line: str, message: str, served: Served
) -> None:
    Path("questions.jsonl").write_text(line)
    done = CliRunner().invoke(app, ["eval", "questions.jsonl"])
    assert message in str(done.exception)
    assert served.seen == []
