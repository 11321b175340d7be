"""The reference pages are what the code says now."""

import pytest

from tests.documents.reference import FOLDER, PAGES

AGAIN = "python -m tests.documents.reference writes the page again"


@pytest.mark.parametrize("page", PAGES)
def test_a_reference_page_is_current(page: str) -> None:
    assert (FOLDER / page).read_text(encoding="utf-8") == PAGES[page](), AGAIN


def test_every_page_of_the_reference_is_written_from_the_code() -> None:
    assert {page.name for page in FOLDER.iterdir()} == set(PAGES)
