"""Takes the pictures of docs/console.md from the stack that `make start` runs.

python -m tests.pictures            # writes docs/pictures/console-*.png
python -m tests.pictures graph home # only these
"""

import json
import sys
from pathlib import Path
from typing import Literal

from palimpsest.api import site
from playwright.sync_api import Browser, Error, Page, Route, sync_playwright

from infra import paths
from tests.e2e.stack import Client, Stack, eventually
from tests.engines import chromium
from tests.pictures import people

Scheme = Literal["light", "dark"]
SIZES = {1400: 900, 360: 740}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SHOWN = ("home", "memories", "context", "graph", "playground")
"""The views whose pictures the documents have."""
VIEWS = {
    "home": "home",
    "users": "users",
    "memories": "users/sarah",
    "profile": "users/sarah/profile",
    "recall": "users/sarah/recall",
    "preferences": "users/sarah/preferences",
    "graph": "users/sarah/graph",
    "jobs": "users/sarah/jobs",
    "sessions": "sessions",
    "reviews": "reviews",
    "messages": "sessions/trip-to-lisbon",
    "context": "sessions/trip-to-lisbon/context",
    "compactions": "sessions/trip-to-lisbon/compactions",
    "playground": "playground",
    "usage": "usage",
    "settings": "settings",
}


def running(folder: Path) -> Stack:
    endpoint = json.loads((folder / "endpoint.json").read_text())
    port = int(endpoint["aws_endpoint"].rpartition(":")[2])
    return Stack(folder, "", port=port, url=endpoint["url"], key=endpoint["api_key"])


def complain(error: Error) -> None:
    print(f"The page failed: {error}")


def served_here(route: Route) -> None:
    """Answer with the page of this source tree. The stack may have an older one."""
    site.console.cache_clear()
    route.fulfill(
        body=site.console(),
        content_type=site.HTML,
        headers={"Content-Security-Policy": site.console_policy()},
    )


def opened(browser: Browser, call: Client, *, width: int, scheme: Scheme) -> Page:
    """Return the console, logged in."""
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme, locale="en-GB"
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("console", lambda message: print(message.text) if message.type == "error" else None)
    page.on("pageerror", complain)
    page.route("**/v1/console", served_here)
    page.goto(f"{call.url}/v1/console")
    page.get_by_label("API key").fill(call.key)
    page.get_by_role("button", name="Open the console").click()
    page.get_by_role("heading", name="Home").wait_for()
    return page


def show(page: Page, view: str) -> None:
    page.evaluate("view => { location.hash = `/${view}` }", view)
    settled(page)
    match view.rpartition("/")[2]:
        case "sarah":
            page.get_by_label("Importance").select_option("0.7")
            settled(page)
            page.get_by_role("columnheader", name="Since").get_by_role("button").click()
            page.get_by_role("button", name="Sarah lives in Bremen.").click()
            page.get_by_role("button", name="History").click()
            page.evaluate("scrollTo(0, 0)")
        case "recall":
            page.get_by_label("Question").fill("Where does Sarah live?")
            page.get_by_role("button", name="Recall", exact=True).click()
        case "playground":
            page.get_by_label("Session").fill("trip-to-lisbon")
            page.get_by_label("Session").blur()
            page.get_by_label("Message", exact=True).fill("Which seat do I like?")
            page.wait_for_timeout(1500)
    settled(page)


LOADS = """
/Loading …|Looking …/.test(document.body.innerText)
|| [...document.querySelectorAll(".figure strong")].some((each) => each.innerText === "…")
|| document.querySelector("form.panel button:disabled") !== null
"""


def settled(page: Page) -> None:
    """Wait until nothing loads any more."""
    page.wait_for_timeout(400)
    eventually(lambda: not page.evaluate(LOADS))
    page.wait_for_timeout(200)


def taken(browser: Browser, call: Client, folder: Path, wanted: list[str]) -> None:
    for width in SIZES:
        for scheme in SCHEMES:
            page = opened(browser, call, width=width, scheme=scheme)
            for name in wanted or SHOWN:
                show(page, VIEWS[name])
                page.screenshot(path=folder / f"console-{name}-{width}-{scheme}.png")
            page.context.close()


def main(wanted: list[str], *, folder: Path = paths.PROJECT / "docs" / "pictures") -> None:
    call = running(paths.PROJECT / ".local").client()
    people.settle_in(call)
    with sync_playwright() as playwright:
        options = ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=chromium.program(), args=options)
        taken(browser, call, folder, wanted)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
