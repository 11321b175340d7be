"""The memory console in a real browser: every view opens and edits, by keyboard too, readers with
disabilities can use it, and hostile text stays text.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.e2e.stack import Client, Stack, eventually
from tests.engines import axe, chromium, npm

pytestmark = pytest.mark.e2e
HOSTILE = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"></memory> \u202eesrever\u202c'
LONG = HOSTILE * (1_000_000 // len(HOSTILE) + 1)
PATIENCE = 60
"""Seconds after which a page is broken. On an idle machine a view takes less than one."""
MILLISECONDS = PATIENCE * 1000
WIDTHS = (360, 1600)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIEWS = (
    "home",
    "users",
    "sessions",
    "reviews",
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
    "playground?user=sarah&session=s1",
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


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
        complaints: list[str] = []
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        enter(page, filled)
        show(page, "users")
        yield page
        assert complaints == []
        assert page.evaluate("window.ran") is None


def enter(page: Page, call: Client) -> None:
    page.set_default_timeout(MILLISECONDS)
    page.goto(f"{call.url}/v1/console")
    page.get_by_label("API key").fill(call.key)
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def show(page: Page, view: str) -> None:
    page.evaluate("view => { location.hash = `/${view}` }", view)
    expect(page.get_by_text("Loading …")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def each_look(page: Page) -> Iterator[str]:
    """Every view at each width, light and dark. Yields what is shown now."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for view in VIEWS:
                show(page, view)
                yield f"{view}, {width} px, {scheme}"


@pytest.mark.usefixtures("megabyte")
def test_every_view_opens_small_and_large_light_and_dark(page: Page) -> None:
    for look in each_look(page):
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        assert page.evaluate(WIDER) <= 0, look
        assert page.title().endswith("Palimpsest"), look
    page.set_viewport_size({"width": min(WIDTHS), "height": 900})
    show(page, "users")
    assert page.get_by_role("link", name="sarah").bounding_box()["height"] < 30  # type: ignore[index]  # in one line
    show(page, "users/sarah")
    expect(page.get_by_text(HOSTILE.partition("<img")[0])).to_have_count(
        2
    )  # the event and the preference


def test_axe_finds_nothing_serious_in_any_view(page: Page) -> None:
    if not axe.AXE.is_file():
        pytest.fail("axe-core is not installed") if npm.required() else pytest.skip("no axe-core")
    findings = {look: found for look in each_look(page) if (found := axe.serious(page))}
    assert findings == {}
    show(page, "users/sarah")
    page.get_by_role("button", name="Sarah lives in Hamburg.").click()
    page.get_by_role("button", name="History").click()
    expect(page.get_by_role("list", name="Versions, the newest first")).to_be_visible()
    assert axe.serious(page) == []
    page.keyboard.press("Control+k")
    expect(page.get_by_role("listbox", name="Entries")).to_be_visible()
    assert axe.serious(page) == []


def test_axe_finds_what_is_wrong(page: Page) -> None:
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [line for line in axe.serious(page) if line.startswith("button-name (critical)")]


@pytest.mark.usefixtures("megabyte")
def test_a_megabyte_of_hostile_text_is_shown_as_it_is(page: Page) -> None:
    show(page, "sessions/s1")
    message = page.get_by_role("listitem").filter(has_text="assistant")
    expect(message).not_to_contain_text(LONG)
    message.get_by_role("button", name=f"Show all {len(LONG)} characters").click()
    assert message.locator(".text").text_content() == LONG
    assert page.evaluate(WIDER) <= 0
    show(page, "sessions/s1/context")  # it goes on
    expect(page.get_by_role("heading", name="What the model is sent")).to_be_visible()


def test_memories_are_saved_corrected_reverted_and_forgotten(page: Page) -> None:
    show(page, "users/sarah")
    table = page.get_by_role("table", name="Memories")
    table.get_by_role("button", name="Sarah lives in Hamburg.").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("New content").fill("Sarah lives in Kiel.")
    page.get_by_role("button", name="Save as a new version").click()
    table.get_by_role("button", name="Sarah lives in Kiel.").click()
    page.get_by_role("button", name="History").click()
    versions = page.get_by_role("list", name="Versions, the newest first").get_by_role("listitem")
    expect(versions).to_have_count(3)
    expect(page.locator(".strip .part")).to_have_count(3)
    versions.filter(has_text="Bremen").get_by_role("button", name="Make current again").click()
    expect(page.get_by_role("status")).to_contain_text("Its content is current again.")
    page.get_by_text("Save a memory").click()
    page.get_by_label("Content").fill("Sarah plays chess.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(table.get_by_role("button", name="Sarah plays chess.")).to_be_visible()
    page.get_by_text("Forget by filter").click()
    page.get_by_label("Type to forget").select_option("event")
    page.get_by_role("button", name="Try (dry run)").click()
    expect(page.get_by_text("1 memory would be forgotten")).to_be_visible()
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten.")
    expect(table.get_by_role("row").filter(has_text="window.ran")).to_have_count(
        1
    )  # the preference stays


def test_memories_are_sorted_and_filtered(page: Page, filled: Client) -> None:
    chess = {"type": "task", "content": "A game of chess.", "importance": 0.95}
    assert filled("POST", "/v1/users/sarah/memories", {"memories": [chess]}).status == 201
    show(page, "users/sarah")
    table = page.get_by_role("table", name="Memories")
    first = table.get_by_role("row").nth(1)
    filters = page.get_by_role("group", name="Filter")
    table.get_by_role("button", name="Importance").click()
    expect(first).not_to_contain_text("A game of chess.")
    table.get_by_role("button", name="Importance").click()
    expect(first).to_contain_text("A game of chess.")
    expect(first).to_contain_text("95")
    expect(table.get_by_role("columnheader", name="Importance")).to_have_attribute(
        "aria-sort", "descending"
    )
    filters.get_by_label("Type").select_option("task")
    expect(table.get_by_role("row")).to_have_count(2)
    filters.get_by_label("State").select_option("superseded")
    filters.get_by_label("Type").select_option("")
    expect(table.get_by_role("row").nth(1)).to_contain_text("Sarah lives in Bremen.")
    expect(table.get_by_role("row")).to_have_count(2)


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
    expect(page.get_by_role("row").filter(has_text="language")).to_contain_text("spoken")
    page.get_by_role("button", name="Delete language").click()
    expect(page.get_by_role("row").filter(has_text="language")).to_have_count(0)
    show(page, "settings")
    page.get_by_label("Id", exact=True).fill("leave")
    page.get_by_label("Content").fill("Everybody has 25 days.")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_role("row").filter(has_text="Everybody has 25 days.")).to_have_count(1)
    page.get_by_role("button", name="Delete leave").click()
    expect(page.get_by_role("row").filter(has_text="Everybody")).to_have_count(0)
    page.get_by_label("The tenant's defaults").fill('{"retention_days": 12}')
    page.get_by_role("button", name="Save").first.click()
    eventually(lambda: filled("GET", "/v1/settings").json["retention_days"] == 12)


def test_the_graph_is_drawn_queried_and_changed(page: Page, filled: Client) -> None:
    show(page, "users/sarah/graph")
    nodes = page.locator("svg .node")
    expect(nodes).to_have_count(3)  # the user, where they work, and a preference
    assert len(set(nodes.evaluate_all("all => all.map((each) => each.classList[1])"))) == 3
    expect(page.get_by_role("button", name="Preference: theme: <script>")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("table", name="Result")).to_contain_text("WORKS_AT")
    page.get_by_role("button", name="Delete").click()
    expect(nodes).to_have_count(2)
    assert filled("GET", "/v1/users/sarah/graph/relationships").json["relationships"] == []


def test_the_graph_is_walked_by_keyboard(page: Page) -> None:
    show(page, "users/sarah/graph")
    page.get_by_role("button", name="User: sarah").focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    company = page.get_by_role("button", name="Company: <script>")
    company.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Back to the user")).to_be_visible()
    expect(page.locator("svg .node.centre")).to_have_attribute("aria-label", re.compile("Company"))


def test_the_bar_of_a_context_adds_up(page: Page, filled: Client) -> None:
    filled.overflow("s2")
    eventually(lambda: filled.session("s2")["compaction"] == "none")
    show(page, "sessions/s2/context")
    parts = {
        part.get_attribute("data-part"): int(part.get_attribute("data-value") or "")
        for part in page.locator(".stacked .legend li").all()
    }
    tokens = filled("GET", "/v1/sessions/s2/context").json["tokens"]
    assert set(parts) == {"stable", "summary", "window", "memory", "tools", "free"}
    assert sum(parts.values()) == tokens["budget"]
    assert parts["summary"] == tokens["parts"]["summary"] > 0
    assert parts["window"] == tokens["parts"]["messages"] > 0
    assert parts["stable"] > tokens["parts"]["system"] + tokens["parts"]["framing"]
    expect(page.get_by_text("cached:")).to_have_count(0)  # nothing to compare it with yet
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text(re.compile("(99|100) % cached:"))).to_be_visible()
    show(page, "sessions/s2")
    newest = page.get_by_role("list", name="Messages, the newest first").get_by_role("listitem")
    expect(newest.first).to_contain_text("window")
    expect(newest.last).to_contain_text("folded")


def test_material_is_marked(page: Page, filled: Client) -> None:
    mail = "> From: Ann\n> I live in Rome and I work at the harbour.\n> See you in May."
    assert filled.append("s1", f"Please sum this up:\n\n{mail}").status == 201
    show(page, "sessions/s1")
    newest = page.get_by_role("list", name="Messages, the newest first").get_by_role("listitem")
    expect(newest.first).to_contain_text("material")


def test_the_first_view_shows_figures(page: Page, filled: Client) -> None:
    eventually(
        lambda: filled("GET", "/v1/usage", query={"by": "tenant"}).json["usage"][0]["messages"]
    )
    show(page, "home")
    figures = page.get_by_role("list", name="Figures").get_by_role("listitem")
    shown = {"Users": "1", "Sessions": "1", "Memories": "3", "Failed jobs": "0", "Messages": "1"}
    for name, value in shown.items():
        figure = figures.filter(has=page.get_by_text(name, exact=True))
        expect(figure.locator("strong")).to_have_text(value)
    for name in ("Model tokens", "Cost of models", "p95"):
        expect(figures.filter(has=page.get_by_text(name, exact=True))).to_have_count(1)


def test_the_playground_shows_what_is_recalled_while_one_types(page: Page, filled: Client) -> None:
    show(page, "playground?user=sarah")
    session = page.get_by_label("Session").input_value()
    page.get_by_label("Message", exact=True).fill("Where does Sarah live?")
    recalled = page.get_by_role("complementary", name="Memory")
    expect(recalled).to_contain_text("Sarah lives in Hamburg.")
    assert filled("GET", f"/v1/sessions/{session}").status == 404  # nothing is stored by typing
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Where does Sarah live?")
    expect(recalled.locator(".legend li[data-part=free]")).to_be_visible()
    assert [row["content"] for row in filled.history(session)] == ["Where does Sarah live?"]


def test_the_palette_goes_anywhere(page: Page) -> None:
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to a view, user or session")
    expect(box).to_be_focused()
    box.fill("usage")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Usage of this month")).to_be_visible()
    expect(box).to_have_count(0)
    page.keyboard.press("Meta+k")
    expect(box).to_be_focused()
    box.fill("user sarah")
    expect(page.get_by_role("option", name="sarah User")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="sarah")).to_be_visible()
    expect(box).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)


def test_times_are_in_the_readers_zone_and_views_are_refreshed(
    browser: Browser, filled: Client
) -> None:
    with closing(browser.new_context(timezone_id="Asia/Kolkata", locale="en-GB")) as context:
        page = context.new_page()
        enter(page, filled)
        begun = {"type": "fact", "content": "It rains.", "valid_from": "2026-03-01T20:00:00Z"}
        show(page, "users/sarah")
        assert filled("POST", "/v1/users/sarah/memories", {"memories": [begun]}).status == 201
        page.get_by_role("button", name="Refresh").click()
        row = page.get_by_role("row").filter(has_text="It rains.")
        expect(row).to_contain_text("2 Mar 2026")  # 01:30 of the next day there
        expect(row.locator("time")).to_have_attribute("datetime", re.compile("2026-03-01T20:00"))


def test_an_id_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(page, "users/sarah")
    page.get_by_role("button", name="Copy the id of the user").click()
    expect(page.get_by_role("status")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "sarah"


def test_a_recall_leads_to_the_message_that_it_found(page: Page, filled: Client) -> None:
    search = {"query": "bicycle", "mode": "keyword"}
    eventually(lambda: filled("POST", "/v1/users/sarah/memories/search", search).json["memories"])
    show(page, "users/sarah/recall")
    page.get_by_label("Question").fill("Which colour has my bicycle?")
    page.get_by_role("button", name="Recall", exact=True).click()
    found = page.get_by_role("listitem").filter(has_text="My bicycle is green.").first
    expect(found.get_by_role("meter", name="score")).to_be_visible()
    found.get_by_role("link", name="said in s1").click()
    expect(page.locator(".marked")).to_contain_text("My bicycle is green.")


def test_a_job_says_whether_its_model_calls_are_kept(page: Page, filled: Client) -> None:
    assert filled("POST", "/v1/sessions/s1/end", {"wait": 20}).status in (200, 202)
    show(page, "users/sarah/jobs")
    page.get_by_role("button", name="extract").click()
    calls = page.get_by_role("region", name="Model calls")
    expect(calls).to_contain_text("They are not kept.")
    assert filled("PUT", "/v1/settings", {"keep_model_calls": True}).status == 200
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("button", name="extract").click()
    expect(calls).to_contain_text("No call of the last seven days is kept.")
    assert axe.serious(page) == []


def test_feedback_opens_a_review_that_is_decided(page: Page, filled: Client) -> None:
    search = {"query": "Hamburg", "mode": "keyword"}
    eventually(lambda: filled("POST", "/v1/users/sarah/memories/search", search).json["memories"])
    show(page, "users/sarah/recall")
    page.get_by_label("Question").fill("Where does Sarah live?")
    page.get_by_role("button", name="Recall", exact=True).click()
    found = page.get_by_role("listitem").filter(has_text="Sarah lives in Hamburg.").first
    found.get_by_role("button", name="Wrong").click()
    expect(page.get_by_role("status")).to_contain_text("A review is open.")
    show(page, "home")
    page.get_by_role("link", name="1 open review").click()
    review = page.get_by_role("list", name="Open reviews").get_by_role("listitem")
    expect(review).to_contain_text("Sarah lives in Hamburg.")
    assert axe.serious(page) == []
    review.get_by_role("link", name="Edit it").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    show(page, "reviews")
    review.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text("No review is open.")).to_be_visible()
    residence = {"topic_key": "residence"}
    kept = filled("GET", "/v1/users/sarah/memories", query=residence).json["memories"]
    assert [memory["content"] for memory in kept] == ["Sarah lives in Hamburg."]


def test_it_works_by_keyboard_alone_and_forgets_the_key(page: Page) -> None:
    page.reload()
    expect(page.get_by_role("link", name="sarah")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.get_by_role("link", name="sarah").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="sarah")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("button", name="Sarah lives in Hamburg.").press("Enter")
    button = page.get_by_role("button", name="History")
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


def test_a_wrong_key_is_refused_at_login(browser: Browser, stack: Stack, call: Client) -> None:
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"{call.url}/v1/console")
        blind = stack.client(scopes=("write",), tenant=call.tenant).key
        for key, reason in (
            ("pal_wrong", "is not valid"),
            (blind, "needs a key with the scope read"),
        ):
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Open the console").click()
            expect(page.get_by_role("alert")).to_contain_text(reason)
            assert page.evaluate("sessionStorage.length") == 0
        assert axe.serious(page) == []


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
        assert axe.serious(page) == []
        assert complaints == []


def test_the_reference_shows_every_operation(browser: Browser, call: Client) -> None:
    with closing(browser.new_context(viewport={"width": 1600, "height": 900})) as context:
        page, complaints = context.new_page(), list[str]()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{call.url}/v1/docs")
        operations = page.locator("#operations option")
        expect(operations.nth(50)).to_be_attached()
        for text in operations.evaluate_all("all => all.map(each => each.value)"):
            page.get_by_label("Find an operation").fill(text)
            path = text.rpartition(" ")[2]
            expect(page.locator("rapi-doc").get_by_text(path, exact=True).first).to_be_attached()
            assert complaints == [], text
