"""Every snippet of every page and of the READMEs is run, or is run by a test that is named here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra import paths
from tests.documents import pages, reader, shell
from tests.doubles.openai_api import OpenAIApi
from tests.served import KEY, Served

HERE = [page for page in pages.to_run("python") if pages.environment_of(page) is None]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An empty service that the reader's folder knows, the files that pages speak of, and a model
    that echoes.
    """
    with Served() as running, OpenAIApi() as model:
        reader.sits_down(tmp_path, monkeypatch, service=running.url, model=model.base_url)
        yield running


def test_every_block_names_a_language_that_somebody_runs_or_that_cannot_be_run() -> None:
    assert pages.unknown([block for page in pages.pages() for block in pages.blocks_of(page)]) == []


def test_what_is_run_elsewhere_is_there_and_its_test_reads_the_page() -> None:
    for (page, language), test in pages.ELSEWHERE.items():
        assert any(block.language == language for block in pages.blocks_of(page)), page
        assert Path(page).name in (paths.PROJECT / test).read_text(), f"{test} does not read {page}"


def test_what_is_no_answer_and_runs_nowhere_is_not_shown() -> None:
    assert pages.to_run("typescript") == []
    for page in pages.pages():
        before = ""
        for block in pages.blocks_of(page):
            assert block.language != "json" or block.title == pages.ANSWER, (
                f"{block.place} answers nothing"
            )
            assert block.title != pages.ANSWER or before in ("python", "sh"), (
                f"{block.place} follows nothing that runs"
            )
            before = block.language if block.title != pages.ANSWER else ""


@pytest.mark.parametrize("kind", ["user", "session"])
def test_no_page_uses_a_user_or_a_session_of_another(kind: str) -> None:
    """Session ids are the tenant's: on one stack, two pages with a session `monday` would be in
    each other's way.
    """
    used: dict[str, set[str]] = {}
    for page in pages.pages():
        for name in pages.ids_of(page, kind):
            used.setdefault(name, set()).add(page)
    assert {name: found for name, found in used.items() if len(found) > 1} == {}
    assert len(used) > 15


@pytest.mark.parametrize("page", HERE)
def test_a_page_s_python_runs_and_prints_what_the_page_shows(page: str, served: Served) -> None:
    pages.run_python(page, {})


@pytest.mark.parametrize("page", pages.to_run("sh"))
def test_a_page_s_commands_run_and_print_what_the_page_shows(
    page: str, served: Served, tmp_path: Path
) -> None:
    calls = shell.run(
        page, tmp_path, URL=served.url, KEY=KEY, PALIMPSEST_URL=served.url, PALIMPSEST_API_KEY=KEY
    )
    assert shell.unknown_calls(calls) == []


@pytest.mark.parametrize(
    "call",
    [
        ["make", "nothing"],
        ["make", "api-key", "ARGS=create --nothing x"],
        ["cdk", "deploy", "-c", "nothing=1"],
        ["cdk", "deploy", "--nothing", "1"],
        ["pip", "install", "palimpsest-memory[nothing]"],
        ["npm", "install", "nothing"],
        ["aws", "dynamodb", "list-nothing"],
        ["aws", "dynamodb", "list-tables", "--nothing", "1"],
        ["aws", "dynamodb", "list-tables", "--limit", "many"],
        ["aws", "dynamodb", "delete-table"],
        ["aws", "nothing", "list-tables"],
    ],
)
def test_a_call_that_a_program_would_not_know_is_found(call: list[str]) -> None:
    assert shell.unknown_calls([call]) == [call]


@pytest.mark.parametrize(
    ("said", "shown", "language"),
    [
        ("a b", "a c", "text"),
        ('{"a": 1}', '{"a": 2}', "json"),
        ('{"a": [1, 2]}', '{"a": [1]}', "json"),
    ],
)
def test_an_answer_that_differs_is_found(said: str, shown: str, language: str) -> None:
    with pytest.raises(AssertionError):
        pages.compare(said, pages.Block("p:1", language, pages.ANSWER, "", shown))
    also: Any = pages.Block(
        "p:1", language, pages.ANSWER, "", '{"a": "…"}' if language == "json" else "a …"
    )
    pages.compare(said, also)
