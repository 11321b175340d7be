"""Checks pages with axe-core, for readers with disabilities."""

from typing import Any

from playwright.sync_api import Page

from tests.engines import npm

AXE = npm.NODE_MODULES / "axe-core" / "axe.min.js"
SERIOUS = frozenset({"serious", "critical"})
RUN = "async () => (await axe.run({resultTypes: ['violations']})).violations"


def serious(page: Page) -> list[str]:
    """Return the serious and critical findings on the page as it is shown, one line each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    findings: list[dict[str, Any]] = page.evaluate(RUN)
    return [_line(finding) for finding in findings if finding["impact"] in SERIOUS]


def _line(finding: dict[str, Any]) -> str:
    nodes = "; ".join(str(node["html"])[:160] for node in finding["nodes"][:3])
    return f"{finding['id']} ({finding['impact']}): {finding['help']}: {nodes}"
