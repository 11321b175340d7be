"""A decision is read in a minute: it takes half a page, and its measurements are on pages of their
own.
"""

import re
from pathlib import Path

import pytest

from infra import paths

DOCUMENTS = paths.PROJECT / "docs"
DECISIONS = sorted((DOCUMENTS / "adr").glob("[0-9]*.md"))
MEASUREMENTS = sorted((DOCUMENTS / "measurements").glob("[!i]*.md"))
LINES, WORDS = 40, 510
"""Half a page."""


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_takes_half_a_page(decision: Path) -> None:
    text = decision.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    assert len(text.split()) <= WORDS, "move tables and figures to docs/measurements"


@pytest.mark.parametrize("page", MEASUREMENTS, ids=lambda page: page.stem)
def test_measurements_and_their_decisions_link_to_each_other(page: Path) -> None:
    linking = {
        decision.name
        for decision in DECISIONS
        if f"](../measurements/{page.name})" in decision.read_text(encoding="utf-8")
    }
    linked = re.findall(r"\]\(\.\./adr/([\w-]+\.md)\)", page.read_text(encoding="utf-8"))
    assert linking
    assert linking <= set(linked)


@pytest.mark.parametrize("folder", ["adr", "measurements"])
def test_a_search_finds_guides_before_decisions_and_measurements(folder: str) -> None:
    described = (DOCUMENTS / folder / ".meta.yml").read_text(encoding="utf-8")
    (boost,) = re.findall(r"^search:\n  boost: ([\d.]+)", described)
    assert float(boost) < 1
