"""Every figure that README and pages claim is the one in benchmarks/results.md, and none is without
its result.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from palimpsest.models.catalogue import AWS_PRICES

from benchmarks.cost.idle import FULL, ROUND
from benchmarks.retrieval.labelled.dataset import load
from infra import paths
from tests.documents import pages

RESULTS = (paths.PROJECT / "benchmarks" / "results.md").read_text(encoding="utf-8")
SET, FRESH = "Recall on palimpsest-memory-1", "Requests on the local stack"
FREE, PAID = "Cost of 1,000 turns, without a model", "Cost of 1,000 turns, with a model"
MONTH = "A month of one user"
APPEND, RACE, IDLE = (
    "Append of one message",
    "One conversation, 50 writers with 20 appends each",
    "An idle month",
)
Figure = Callable[[], float]


def unanswerable() -> float:
    """The questions of the labelled set without an answer."""
    return sum(not question.evidence for question in load().questions)


def cell(section: str, row: str, column: str, *, by: float = 1) -> Figure:
    """A figure in a table of the results, times `by`."""

    def read() -> float:
        found = rows_of(section)
        return number(found[row][found[""].index(column)]) * by

    return read


def of_all(section: str, *columns: str, passed: bool = True) -> Figure:
    """The cases of a set that passed, or all of them, over both halves."""

    def read() -> float:
        found = rows_of(section)
        cells = [found["all"][found[""].index(column)].split("/") for column in columns]
        return sum(float(cell[0 if passed else 1]) for cell in cells)

    return read


def price(name: str) -> Figure:
    """A list price of AWS, in US$ a million."""
    return lambda: AWS_PRICES[name]


def note(section: str, pattern: str) -> Figure:
    """A figure in a note beneath a table."""

    def read() -> float:
        found = re.search(pattern, part(section))
        assert found, f"{section} says nothing like {pattern}"
        return number(found[1])

    return read


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a page; each `(…)` in the pattern is one of the `figures`, in as many digits as
    the page shows.
    """

    page: str
    pattern: str
    figures: tuple[Figure, ...]


TRUTH, PROMPT = (
    "Truth, without a model: our cases",
    "Prompt: 200 turns, 12 memories, a change every tenth turn, a question about the past every fourth",
)
PAID_INPUT = "Prompt: US dollars for the input of these 200 turns"
FACTS, BLOCKS = "LlamaIndex, facts block alone", "LlamaIndex, all blocks"
BESIDE = (
    ("Palimpsest, `summarize`", "Palimpsest, defaults", "Palimpsest, summarize"),
    ("LlamaIndex, facts in the user message", f"{FACTS}, insert_method user"),
    ("LlamaIndex, facts in the system message", f"{FACTS}, insert_method system"),
    ("LlamaIndex, three blocks in the system message", f"{BLOCKS}, insert_method system"),
    ("LangGraph, all memories in the system message", "LangGraph, trim_messages, all memories"),
    ("LangGraph, memories of the question", "LangGraph, trim_messages, store search"),
    ("mem0, memories of the question", "mem0, its prompt and the conversation"),
)
"""The rows of a guide's table, and those of the results that they come from."""


def in_the_guide(label: str, *rows: str) -> Claim:
    """A row of the guide to prompt caches: the whole conversation, then a window of 6,000 tokens."""
    whole = rows[0] if len(rows) > 1 else f"{rows[0]}, the whole conversation"
    window = f"{rows[-1]}, 6,000"
    share, cost = r"(0\.\d+)", r"\$(\d\.\d+)"
    return Claim(
        "guides/prompt-caches.md",
        rf"\| {label} \| {share} \| {cost} \| {share} \| {cost} \| (\d+) of 50 \|",
        (
            cell(PROMPT, whole, "common beginning"),
            cell(PAID_INPUT, whole, "gpt-4.1-mini, with cache"),
            cell(PROMPT, window, "common beginning"),
            cell(PAID_INPUT, window, "gpt-4.1-mini, with cache"),
            lambda: number(rows_of(PROMPT)[window][4].partition("/")[0]),
        ),
    )


HELD = ("held, open", "held, held out")
CLAIMS = (
    Claim(
        "README.md",
        r"(\d+)\s+of our test set's (\d+) misleading conversations",
        (of_all(TRUTH, *HELD), of_all(TRUTH, *HELD, passed=False)),
    ),
    Claim(
        "README.md",
        r"\*\*Prompt caches work\*\*: (\d+) % of a context[^$]*\$(\d\.\d+) in place of \$(\d\.\d+)",
        (
            cell(PROMPT, "Palimpsest, defaults", "common beginning", by=100),
            cell(PAID_INPUT, "Palimpsest, defaults", "gpt-4.1-mini, with cache"),
            cell(PAID_INPUT, "Palimpsest, defaults", "gpt-4.1-mini, no cache"),
        ),
    ),
    *(in_the_guide(*row) for row in BESIDE),
    Claim(
        "guides/prompt-caches.md",
        r"it costs \$(\d\.\d+) for all turns",
        (
            cell(
                PAID_INPUT,
                "mem0, its prompt as documented: no conversation",
                "gpt-4.1-mini, with cache",
            ),
        ),
    ),
    Claim(
        "README.md",
        r"Of (\d+)\s+questions without an answer, (\d+) % get no result",
        (unanswerable, cell(SET, "recall, embedded", "abstention", by=100)),
    ),
    *(
        Claim(
            page,
            r"about\s+\$(\d\.\d+) without a model of yours[^$]*,\s+and \$(\d\.\d+) with gpt",
            (cell(FREE, "all", "US$"), cell(PAID, "all", "US$")),
        )
        for page in ("README.md", "cost.md")
    ),
    *(
        Claim(
            page,
            r"about \$(\d\.\d) a month in `prod` and \$(\d\.\d) in `dev`",
            (cell(IDLE, "all", "prod"), cell(IDLE, "all", "dev")),
        )
        for page in ("README.md", "cost.md")
    ),
    *(
        Claim(
            "cost.md",
            rf"\| {a_day} \| {a_month} \| (\d\.\d+) \| (\d\.\d+) \|",
            (
                cell(MONTH, a_day, "US$ without a model"),
                cell(MONTH, a_day, "US$ with gpt-4.1-nano"),
            ),
        )
        for a_day, a_month in (("1", "30"), ("10", "300"), ("50", "1,500"))
    ),
    Claim(
        "cost.md",
        r"1,000 users with ten turns a day cost about \$(\d+) a month without",
        (cell(MONTH, "10", "US$ without a model", by=1_000),),
    ),
    Claim(
        "cost.md", r"The dashboard has (\d+) metrics", (note(IDLE, r"dashboard of (\d+) metrics"),)
    ),
    Claim(
        "cost.md", r"the polling of queues, \$(\d\.\d)", (cell(IDLE, "polling of queues", "prod"),)
    ),
    Claim(
        "cost.md",
        r"the key of `prod`, \$(\d), fifteen alarms,\s+\$(\d\.\d), and the sweep, \$(\d\.\d+)\. "
        r"If more than 500 sessions and 500 users are stored, the sweep costs \$(\d\.\d+)",
        (
            cell(IDLE, "encryption key", "prod"),
            cell(IDLE, "alarms", "prod"),
            cell(IDLE, "rounds of the sweep", "prod"),
            cell(ROUND, FULL, "US$ a month"),
        ),
    ),
    Claim(
        "README.md",
        r"consumes (\d) write units \((\d) with an idempotency key\) at 100 messages and at "
        r"100,000",
        (cell(APPEND, "write units", "100,000"), cell(APPEND, "write units, with a key", "100")),
    ),
    Claim(
        "README.md",
        r"50 writers with 20 appends each on one session: ([\d,]+) of ([\d,]+) "
        r"messages",
        (
            cell(RACE, "Palimpsest, handler", "kept"),
            cell(RACE, "Palimpsest, handler", "acknowledged"),
        ),
    ),
    Claim(
        "README.md",
        r"\((\d+) questions of (\d+) users",
        (note(SET, r"(\d+) questions"), note(SET, r"of (\d+) users")),
    ),
    Claim(
        "README.md",
        r"recall@10 (0\.\d+), MRR (0\.\d+)",
        (cell(SET, "recall, embedded", "recall@10"), cell(SET, "recall, embedded", "MRR")),
    ),
    Claim("operations.md", r"about \$(\d\.\d) a month while idle", (cell(IDLE, "all", "dev"),)),
    Claim(
        "deploy.md",
        r"(?s)all the time \| \$(\d\.\d+).*once a minute \| \$(\d\.\d+) \| \$(\d\.\d+) with "
        r"more than 500 sessions.*and a dashboard \| "
        r"\$(\d\.\d+).*in `prod` alone \| \$(\d\.\d+)",
        (
            cell(IDLE, "polling of queues", "prod"),
            cell(IDLE, "rounds of the sweep", "prod"),
            cell(ROUND, FULL, "US$ a month"),
            cell(IDLE, "alarms", "prod"),
            cell(IDLE, "encryption key", "prod"),
        ),
    ),
    Claim(
        "deploy.md",
        r"\$(\d\.\d+) a million calls \|\n.*\$(\d\.\d+) a million calls, and \$(\d+\.\d+) a million",
        (price("http_api_requests"), price("lambda_requests"), price("lambda_gb_seconds")),
    ),
    Claim(
        "deploy.md",
        r"\$(\d\.\d+) a million write units, \$(\d\.\d+) a million read units",
        (price("dynamodb_writes"), price("dynamodb_reads")),
    ),
    Claim("deploy.md", r"\$(\d\.\d+) a million requests", (price("sqs_requests"),)),
    Claim(
        "models.md",
        r"a layer of (\d+) MB",
        (
            cell(
                "Sizes, unzipped", "layer builtin for aarch64-manylinux_2_28-py3.13", "KB", by=1e-3
            ),
        ),
    ),
    Claim(
        "models.md",
        r"\((\d+) MB with all\s+layers",
        (
            note(
                "Sizes, unzipped",
                r"with all layers "
                r"has (\d+) MB",
            ),
        ),
    ),
    Claim(
        "traces.md",
        r"five layers, and (\d+) MB in all of them\. With traces, .* four layers and (\d+) MB",
        (
            note("Sizes, unzipped", r"Lambda takes (\d+)"),
            note("Sizes, unzipped", r"and (\d+) MB with traces"),
        ),
    ),
    Claim(
        "models.md",
        r"a recall takes (\d+) ms, and (\d+) ms without",
        (
            cell(FRESH, "recall", "p50 ms, 1 at once"),
            cell(FRESH, "recall, rerank: false", "p50 ms, 1 at once"),
        ),
    ),
)
NO_RESULTS = {
    "README.md": (
        r"plus \$112 for the OpenSearch domain",  # list prices, worked out in cost.md
        r"\[48 % of changed facts and 91 % of all others\]",  # in measurements/truth.md
    ),
    "quickstart.md": (r"1\.5 GB of disk and a first\s+download of\s+0\.25 GB",),  # a stated need
    "https.md": (r"trigger_ratio` 0\.8", r"max_stm_token_ratio` 0\.5"),  # settings
    "models.md": (
        r"about 0\.4 for bge",
        r"of Lambda's 250",
        r"400 ms of its own",
    ),  # of others; a setting
    "api.md": (r"under 5 MB",),  # limits, here and below: tests of their own hold them
    "export.md": (r"up to 5 MB",),
    "operations.md": (r"A budget of \$50 a month .* at 80 %",),  # defaults
    "deploy.md": (  # list prices and defaults
        r"\$50 a month for the account",
        r"about \$112 a month",
        r"\$0\.03 for 10,000 uses",
        r"\$0\.50 a GB",
        r"256 to 1,769 MB",
    ),
    "rules.md": (  # ceilings, which the tests beside them hold
        r"less than \$3\.50 in `prod`",
        r"costs under \$600, logs",
        r"under \$1,000 if",
    ),
    "graph.md": (r"256 MB, 1,000 rows and 2 MB",),
    "adapters.md": (r"up to 16 KB",),
    "guides/anthropic-memory.md": (r"up to 16 KB",),
    "guides/langgraph.md": (r"up to 16 KB",),
    "architecture.md": (r"under 1 KB", r"400 ms of processor time"),
}
"""Figures that no measurement gave, by page."""
ARITHMETIC = ("bedrock.md", "cost.md", "faults.md")
"""Pages that work figures out of prices before the reader's eyes, or state limits with the tests
that hold them.
"""
RECORDS = ("adr/", "measurements/")
"""Folders of what was decided and measured at its time."""
FIGURE = re.compile(
    r"\$ ?\d[\d,.]*\d|\$ ?\d|\d[\d.,]* ?%|\b0\.\d+\b|\b\d[\d.,]* (?:ms|MB|KB|GB|write units|read "
    r"units)\b"
)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def part(section: str) -> str:
    found = [each for each in RESULTS.split("\n## ") if each.startswith(f"{section}\n")]
    assert len(found) == 1, section
    return found[0]


def rows_of(section: str) -> dict[str, list[str]]:
    """The rows of a table by their first cell; the heading under ""."""
    lines = [line for line in part(section).splitlines() if line.startswith("|")]
    heading, _, *rows = [[each.strip() for each in line.strip("|").split("|")] for line in lines]
    return {"": heading} | {row[0]: row for row in rows}


def number(text: str) -> float:
    return float(text.replace(",", "").removeprefix("$"))


def text_of(page: str) -> str:
    file = paths.PROJECT / page if "README" in page else paths.PROJECT / "docs" / page
    return file.read_text(encoding="utf-8")


def shown_as(measured: float, shown: str) -> bool:
    """Whether it is the figure in as many digits as are shown."""
    digits = len(shown.partition(".")[2])
    return round(measured, digits) == number(shown)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.pattern[:40]}")
def test_a_claim_says_the_figures_that_were_measured(claim: Claim) -> None:
    (found,) = re.finditer(claim.pattern, text_of(claim.page))
    measured = [figure() for figure in claim.figures]
    assert len(found.groups()) == len(measured)
    wrong = [
        (shown, is_)
        for shown, is_ in zip(found.groups(), measured, strict=True)
        if not shown_as(is_, shown)
    ]
    assert wrong == []


def uncovered(page: str) -> Iterator[str]:
    """Figures of a page's prose that neither a claim nor a stated exception covers."""
    text = CODE.sub(lambda found: " " * len(found[0]), text_of(page))
    whole = text_of(page)
    patterns = [claim.pattern for claim in CLAIMS if claim.page == page] + list(
        NO_RESULTS.get(page, ())
    )
    covered = [match.span() for pattern in patterns for match in re.finditer(pattern, whole)]
    for match in FIGURE.finditer(text):
        if not any(begin <= match.start() and match.end() <= end for begin, end in covered):
            yield match[0]


@pytest.mark.parametrize(
    "page",
    [page for page in pages.pages() if not page.startswith(RECORDS) and page not in ARITHMETIC],
)
def test_no_figure_stands_without_the_result_that_it_comes_from(page: str) -> None:
    assert list(uncovered(page)) == []


def test_an_exception_that_no_page_has_is_none() -> None:
    for page, patterns in NO_RESULTS.items():
        assert [pattern for pattern in patterns if not re.search(pattern, text_of(page))] == []


@pytest.mark.parametrize(
    ("measured", "shown", "is_right"),
    [(0.0451, "0.05", True), (0.0451, "0.04", False), (9.1, "9", True)],
)
def test_a_figure_is_compared_in_the_digits_that_are_shown(
    measured: float,
    shown: str,
    is_right: bool,  # noqa: FBT001
) -> None:  # noqa: FBT001, RUF100
    assert shown_as(measured, shown) is is_right
