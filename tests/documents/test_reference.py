"""The reference pages are what the code says now."""

import re

import pytest
from palimpsest.settings import BY_FUNCTION

from tests.documents.reference import FOLDER, LLMS, PAGES, llms, meanings_of_variables

AGAIN = "python -m tests.documents.reference writes the page again"


@pytest.mark.parametrize("page", PAGES)
def test_a_reference_page_is_current(page: str) -> None:
    assert (FOLDER / page).read_text(encoding="utf-8") == PAGES[page](), AGAIN


def test_every_page_of_the_reference_is_written_from_the_code() -> None:
    assert {page.name for page in FOLDER.iterdir()} == set(PAGES)


def test_every_variable_has_one_meaning() -> None:
    fields = {field for model in BY_FUNCTION.values() for field in model.model_fields}
    assert sorted(name for name, _ in meanings_of_variables()) == sorted(fields)


def test_the_list_for_language_models_has_the_pages_of_the_navigation() -> None:
    assert LLMS.read_text(encoding="utf-8") == llms(), AGAIN


def test_the_codes_of_the_page_on_troubles_are_codes_of_the_api() -> None:
    page = (FOLDER.parent / "troubleshooting.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| 4\d\d `(\w+)`", page, re.MULTILINE)
    assert named
    assert [code for code in named if f"| `{code}` |" not in PAGES["errors.md"]()] == []
