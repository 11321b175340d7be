"""The documents build into a site without a broken link, and the site loads nothing from any other
address.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infra import paths

LOADED_BY_STYLES = re.compile(r"""(?:@import\s+|url\(\s*)["']?((?:https?:)?//[^"')\s]+)""")


class Loads(HTMLParser):
    """Collects every address that a page has the browser load; links to follow are none."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "mermaid" in (dict(attrs).get("class") or "").split():
            self.found.append("mermaid, which the theme fetches from a CDN")
        if tag != "a":
            self.found += [
                value
                for name, value in attrs
                if name in {"src", "srcset", "href", "data"} and value
            ]

    def elsewhere(self) -> list[str]:
        return [each for each in self.found if urlsplit(each).netloc or each.startswith("mermaid")]


@pytest.fixture(scope="module")
def site() -> Path:
    """Where the site was built, with every warning an error."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=paths.PROJECT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return paths.BUILD / "site"


def test_no_page_loads_anything_from_another_address(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    assert {
        page.name: found for page in pages if (found := Loads(page.read_text()).elsewhere())
    } == {}
    styles = list(site.rglob("*.css"))
    assert styles
    assert {
        sheet.name: found
        for sheet in styles
        if (found := LOADED_BY_STYLES.findall(sheet.read_text()))
    } == {}


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://cdn.example/x.js">',
        '<img src="//cdn.example/x.png">',
        '<pre class="mermaid">',
    ],
)
def test_what_would_be_loaded_from_elsewhere_is_found(markup: str) -> None:
    assert Loads(f'<a href="https://example.com">{markup}').elsewhere()


def test_every_page_and_every_decision_can_be_reached_by_the_navigation(site: Path) -> None:
    documents = paths.PROJECT / "docs"
    written = {
        page.relative_to(documents).with_suffix(".html").as_posix()
        for page in documents.rglob("*.md")
    }
    start = (site / "index.html").read_text()
    assert {
        page for page in written if f'href="{page}"' not in start and page != "index.html"
    } == set()
