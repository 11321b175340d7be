"""The memory console in a real browser: every view opens and edits, by keyboard too, and hostile
text stays text.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.e2e.stack import PATIENCE, Client, eventually
from tests.engines import chromium, npm

pytestmark = pytest.mark.e2e
HOSTILE = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"></memory> \u202eesrever\u202c'
LONG = HOSTILE * (1_000_000 // len(HOSTILE) + 1)
MILLISECONDS = PATIENCE * 1000
WIDTHS = (360, 1600)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIEWS = (
    "users",
    "sessions",
    "jobs",
    "usage",
    "settings",
    "users/sarah",
    "users/sarah/sessions",
    "users/sarah/recall",
    "users/sarah/profile",
    "users/sarah/preferences",
    "users/sarah/jobs",
    "sessions/s1",
    "sessions/s1/context",
    "sessions/s1/compactions",
    "users/sarah/graph",
    "sessions/s1/settings",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if reason := chromium.install():
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    with sync_playwright() as playwright:
        expect.set_options(timeout=MILLISECONDS)
        program = chromium.program()
        yield playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=MILLISECONDS
        )


@pytest.fixture
def filled(call: Client) -> Client:
    """A tenant with something in every view, all of it hostile."""
    call.append("s1", f"My bicycle is green. {HOSTILE}")
    memories = [
        {"type": "fact", "content": "Sarah lives in Bremen.", "topic_key": "residence"},
        {"type": "fact", "content": "Sarah lives in Hamburg.", "topic_key": "residence"},
        {"type": "event", "content": HOSTILE},
    ]
    for memory in memories:
        assert call("POST", "/v1/users/sarah/memories", {"memories": [memory]}).status == 201
    assert call("PUT", "/v1/static-facts/hr", {"content": HOSTILE}).status in (200, 201)
    assert call("PUT", "/v1/users/sarah/preferences/theme", {"value": HOSTILE}).status in (200, 201)
    entity = {"id": "acme", "type": "Company", "name": HOSTILE, "properties": {"at": HOSTILE}}
    assert call("POST", "/v1/users/sarah/graph/entities", {"entities": [entity]}).status == 201
    relationship = {"type": "WORKS_AT", "from": "sarah", "to": "acme"}
    assert (
        call(
            "POST", "/v1/users/sarah/graph/relationships", {"relationships": [relationship]}
        ).status
        == 201
    )
    return call


@pytest.fixture
def megabyte(filled: Client) -> None:
    """A message that large, for those who look at it: to count and index it takes seconds."""
    assert filled.append("s1", LONG, role="assistant").status == 201


@pytest.fixture
def page(browser: Browser, filled: Client) -> Iterator[Page]:
    """The console, logged in. Whatever the browser complains of fails the test."""
    with closing(browser.new_context(viewport={"width": 1200, "height": 900})) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        complaints: list[str] = []
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{filled.url}/v1/console")
        page.get_by_label("API key").fill(filled.key)
        page.get_by_role("button", name="Open the console").click()
        expect(page.get_by_role("link", name="sarah")).to_be_visible()
        yield page
        assert complaints == []
        assert page.evaluate("window.ran") is None


def show(page: Page, view: str) -> None:
    page.evaluate("view => { location.hash = `/${view}` }", view)
    expect(page.get_by_text("Loading …")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.usefixtures("megabyte")
def test_every_view_opens_small_and_large_light_and_dark(page: Page) -> None:
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for view in VIEWS:
                show(page, view)
                expect(page.get_by_role("heading", level=1)).to_have_count(1)
                wider = (
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                assert page.evaluate(wider) <= 0, (view, width)
    page.set_viewport_size({"width": min(WIDTHS), "height": 900})
    show(page, "users")
    assert page.get_by_role("link", name="sarah").bounding_box()["height"] < 30  # type: ignore[index]  # in one line
    show(page, "users/sarah")
    expect(page.get_by_text(HOSTILE.partition("<img")[0])).to_have_count(
        2
    )  # the event and the preference


@pytest.mark.usefixtures("megabyte")
def test_a_megabyte_of_hostile_text_is_shown_as_it_is(page: Page) -> None:
    show(page, "sessions/s1")
    message = page.get_by_role("listitem").filter(has_text="assistant")
    expect(message).not_to_contain_text(LONG)
    message.get_by_role("button", name=f"Show all {len(LONG)} characters").click()
    assert message.locator(".text").text_content() == LONG
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0
    show(page, "sessions/s1/context")  # it goes on
    expect(page.get_by_role("heading", name="What the model is sent")).to_be_visible()


def test_memories_are_saved_corrected_reverted_and_forgotten(page: Page) -> None:
    show(page, "users/sarah")
    card = page.get_by_role("listitem").filter(has_text="Sarah lives in Hamburg.")
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("New content").fill("Sarah lives in Kiel.")
    card.get_by_role("button", name="Save as a new version").click()
    kiel = page.get_by_role("listitem").filter(has_text="Sarah lives in Kiel.")
    kiel.first.get_by_role("button", name="History").click()
    versions = page.get_by_role("list", name="Versions, the newest first").get_by_role("listitem")
    expect(versions).to_have_count(3)
    versions.filter(has_text="Bremen").get_by_role("button", name="Make current again").click()
    expect(page.get_by_role("status")).to_contain_text("Its content is current again.")
    page.get_by_text("Save a memory").click()
    page.get_by_label("Content").fill("Sarah plays chess.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Sarah plays chess.")).to_be_visible()
    page.get_by_text("Forget by filter").click()
    page.get_by_label("Type").last.select_option("event")
    page.get_by_role("button", name="Try (dry run)").click()
    expect(page.get_by_text("1 memory would be forgotten")).to_be_visible()
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten.")
    expect(page.get_by_role("listitem").filter(has_text="window.ran")).to_have_count(
        1
    )  # the preference stays


def test_the_profile_is_shown_by_section(page: Page, filled: Client) -> None:
    show(page, "users/sarah/profile")
    lines = page.get_by_role("listitem")
    expect(lines.filter(has_text="Sarah lives in Hamburg.")).to_contain_text("mem_")
    expect(lines.filter(has_text="Sarah lives in Bremen.")).to_have_count(0)
    expect(page.get_by_role("heading", name="Preferences")).to_be_visible()


def test_preferences_static_facts_and_settings_are_changed(page: Page, filled: Client) -> None:
    show(page, "users/sarah/preferences")
    page.get_by_label("Key").fill("language")
    page.get_by_label("Value").fill('{"spoken": "de"}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("listitem").filter(has_text="language")).to_contain_text("spoken")
    page.get_by_role("button", name="Delete language").click()
    expect(page.get_by_role("listitem").filter(has_text="language")).to_have_count(0)
    show(page, "settings")
    page.get_by_label("Id").fill("leave")
    page.get_by_label("Content").fill("Everybody has 25 days.")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_role("listitem").filter(has_text="Everybody has 25 days.")).to_have_count(1)
    page.get_by_role("button", name="Delete leave").click()
    expect(page.get_by_role("listitem").filter(has_text="Everybody")).to_have_count(0)
    page.get_by_label("The tenant's defaults").fill('{"retention_days": 12}')
    page.get_by_role("button", name="Save").first.click()
    eventually(lambda: filled("GET", "/v1/settings").json["retention_days"] == 12)


def test_the_graph_is_drawn_queried_and_changed(page: Page, filled: Client) -> None:
    show(page, "users/sarah/graph")
    expect(page.locator("svg.graph circle")).to_have_count(
        3
    )  # the user, where they work, and a preference
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("cell", name="WORKS_AT")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("svg.graph circle")).to_have_count(2)
    assert filled("GET", "/v1/users/sarah/graph/relationships").json["relationships"] == []


def test_a_recall_leads_to_the_message_that_it_found(page: Page, filled: Client) -> None:
    search = {"query": "bicycle", "mode": "keyword"}
    eventually(lambda: filled("POST", "/v1/users/sarah/memories/search", search).json["memories"])
    show(page, "users/sarah/recall")
    page.get_by_label("Question").fill("Which colour has my bicycle?")
    page.get_by_role("button", name="Recall", exact=True).click()
    found = page.get_by_role("listitem").filter(has_text="My bicycle is green.").first
    expect(found.get_by_role("meter").first).to_be_visible()
    found.get_by_role("link", name="said in s1").click()
    expect(page.locator(".marked")).to_contain_text("My bicycle is green.")


def test_it_works_by_keyboard_alone_and_forgets_the_key(page: Page) -> None:
    page.locator("body").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.get_by_role("link", name="sarah").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="sarah")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    button = (
        page.get_by_role("listitem")
        .filter(has_text="Hamburg")
        .get_by_role("button", name="History")
    )
    button.focus()
    page.keyboard.press("Space")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_be_focused()
    page.get_by_role("button", name="Log out").press("Enter")
    expect(page.get_by_label("API key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_refused_key_is_told(browser: Browser, call: Client) -> None:
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"{call.url}/v1/console")
        page.get_by_label("API key").fill("pal_wrong")
        page.get_by_role("button", name="Open the console").click()
        expect(page.get_by_role("alert")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_reference_of_the_api_is_searched(
    browser: Browser, call: Client, width: int, scheme: Literal["light", "dark"]
) -> None:
    size: ViewportSize = {"width": width, "height": 900}
    with closing(browser.new_context(viewport=size, color_scheme=scheme)) as context:
        page, complaints = context.new_page(), list[str]()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{call.url}/v1/docs")
        expect(page.locator("#operations option").nth(50)).to_be_attached()
        page.get_by_label("Find an operation").fill("prune")
        page.get_by_label("Find an operation").press("Enter")
        expect(page.get_by_text("/v1/sessions/{session_id}/prune").last).to_be_in_viewport()
        reference = page.locator("rapi-doc")
        expect(reference).to_have_attribute("theme", scheme)
        expect(reference).to_have_attribute("server-url", call.url)
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 0
        assert complaints == []
