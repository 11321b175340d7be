"""The fenced blocks of the documents, who runs them, and how one in Python is run; needs the
standard library alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
ENVIRONMENTS = PROJECT / "tests" / "engines" / "environments"
RUN = ("python", "sh", "typescript", "json")
SHOWN = ("text", "http")
"""Languages of what nobody could run: drawings, and messages on the wire."""
ANSWER = "answer"
"""The title of a block that shows what the one before it prints; `…` stands for anything."""
ELSEWHERE = {
    ("https.md", "python"): "tests/e2e/test_agent_loop.py",
    ("README.md", "sh"): "tests/e2e/test_readme.py",
    ("client.md", "python"): "tests/contract/client/test_documents.py",
    ("layers/client/README.md", "python"): "tests/e2e/test_installed_client.py",
    ("library.md", "python"): "tests/unit/test_agent_memory.py",
    ("stores.md", "python"): "tests/contract/test_memories_in_databases.py",
    ("typescript.md", "typescript"): "tests/contract/client/test_typescript.py",
    ("typescript.md", "sh"): "tests/contract/client/test_typescript.py",
}
"""What tests of their own run, by page and language; everything else runs by itself."""
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>[\w-]*)(?: "
    r"+title=\"(?P<title>[^\"]*)\")?(?P<rest>.*)\n"
    r"(?P<text>(?:.*\n)*?)(?P=indent)(?P=fence)$",
    re.MULTILINE,
)
IN_PROCESS = ("concepts.md", "data.md", "library.md", "mapping.md", "stores.md")
"""Pages whose memory is within the process: they meet no other."""
IDS = {
    "user": re.compile(
        r"""users/([\w.-]+)|user(?:_id|Id)?["']?[ ]?[=:][ ]?["']([\w.-]+)["']|\.user\("([\w.-]+)"\)"""
        r"""|(?:--user|--actor-id)[ ]([\w.-]+)|agent\.py[ ]([\w.-]+)"""
    ),
    "session": re.compile(
        r"""sessions/([\w.-]+)|session(?:_id|Id)?["']?[ ]?[=:][ ]?["']([\w.-]+)["']|[sS]ession\("([\w.-]+)\""""
        r"""|--session(?:-id)?[ ]([\w.-]+)|thread_id":[ ]"([\w.-]+)"|agent\.py[ ][\w.-]+[ ]([\w.-]+)"""
    ),
}
"""How pages name users and sessions."""
ROUTES = {"forget"}


@dataclass(frozen=True, slots=True)
class Block:
    """`place` is page and line, `rest` what stands behind the language besides a title."""

    place: str
    language: str
    title: str
    rest: str
    text: str


def pages() -> list[str]:
    """The pages of the site and the READMEs, by their paths: below `docs/`, or else in the
    project.
    """
    written = (PROJECT / "docs").rglob("*.md")
    return [
        "README.md",
        "layers/client/README.md",
        *sorted(p.relative_to(PROJECT / "docs").as_posix() for p in written),
    ]


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    file = PROJECT / page if "README" in page else PROJECT / "docs" / page
    text = file.read_text(encoding="utf-8")
    return [
        Block(
            f"{page}:{text.count(chr(10), 0, fence.start()) + 1}",
            fence["language"],
            fence["title"] or "",
            fence["rest"].strip(),
            fence["text"],
        )
        for fence in FENCE.finditer(text)
    ]


def in_order() -> list[str]:
    """The pages of the site in the order of its navigation; decisions, which show nothing to run,
    are left out.
    """
    text = (PROJECT / "docs" / ".nav.yml").read_text(encoding="utf-8")
    return re.findall(r"[\w/-]+\.md", text)


def ids_of(page: str, kind: str) -> set[str]:
    """The ids of users, or of sessions, that a page's blocks use on a stack."""
    if page in IN_PROCESS:
        return set()
    run = "\n".join(block.text for block in blocks_of(page) if block.language in RUN)
    matches = IDS[kind].findall(run)
    return {name for groups in matches for name in groups if name} - ROUTES


def environment_of(page: str) -> str | None:
    """The environment in which a page's Python runs: that of its name, None for the one of
    development.
    """
    name = Path(page).stem.replace("-", "_")
    return name if (ENVIRONMENTS / f"{name}.txt").is_file() else None


def to_run(language: str) -> list[str]:
    """The pages with blocks of a language which no test of their own runs."""
    return [
        page
        for page in pages()
        if (page, language) not in ELSEWHERE
        and any(block.language == language for block in blocks_of(page))
    ]


def with_answers(page: str, language: str) -> Iterator[tuple[Block, Block | None]]:
    """Each block of a language, and the answer that is shown behind it."""
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language == language and block.title != ANSWER:
            yield block, after if after and after.title == ANSWER else None


def run_python(page: str, names: dict[str, Any]) -> None:
    """Run a page's Python in order, in one namespace that begins with `names`. Raises what it
    raises, and AssertionError where it prints something else than the page shows.
    """
    for block, answer in with_answers(page, "python"):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block.text, block.place, "exec"), names)  # noqa: S102 - our own document
        compare(output.getvalue(), answer)


def compare(output: str, answer: Block | None) -> None:
    """Raises AssertionError unless it was said what the page shows."""
    if answer is None:
        return
    if answer.language == "json":
        assert _holds(json.loads(output), json.loads(answer.text)), f"{answer.place}: {output}"
    else:
        shown = re.escape(answer.text.strip()).replace("…", ".*")
        assert re.fullmatch(shown, output.strip(), re.DOTALL), f"{answer.place}: {output}"


def _holds(answer: Any, shown: Any) -> bool:
    """Whether what was said has every field that is shown, and lists of the same length."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return isinstance(answer, dict) and all(
            name in answer and _holds(answer[name], field) for name, field in shown.items()
        )
    if isinstance(shown, list):
        return (
            isinstance(answer, list)
            and len(answer) == len(shown)
            and all(map(_holds, answer, shown))
        )
    return bool(answer == shown)


def unknown(blocks: Iterable[Block]) -> list[str]:
    """The places of blocks that name no language that we know, or say more than a title."""
    return [block.place for block in blocks if block.language not in (*RUN, *SHOWN) or block.rest]
