"""Other libraries with the same conversation. Each is set up as its documentation describes, in an
environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from palimpsest.models.tiktoken_counter import RANKS_PACKAGE

from benchmarks.beside.environments import Peer, python_of
from benchmarks.prompt.conversation import conversation
from benchmarks.prompt.measure import Measured
from infra import paths

SECONDS = 600
RESERVED = 250
"""The part of a budget for what LlamaIndex's `token_limit` does not count: the agent's system
prompt, the template of the blocks, and the tokens around a message.
"""
LLAMA_INDEX = Peer(
    "llama_index_memory",
    "LlamaIndex",
    ("llama-index-core",),
    (
        "`Memory` with its defaults on a file database, after the agent's system prompt. All blocks: "
        "static, facts and vector, with the priorities of its documents; when they exceed the "
        "limit, the facts (priority 1) leave first, then the vector block. Facts block alone: it never leaves (priority 0, "
        "its default). The facts' model finds nothing, as `facts` is set; the vector store is a "
        f"list in place of Chroma. `token_limit` is {RESERVED} below the budget of 6,000, as it "
        "does not count all that is sent"
    ),
)
LANGGRAPH = Peer(
    "langgraph_trim",
    "LangGraph",
    ("langgraph", "langchain-core"),
    (
        "`trim_messages` (last, start_on human) over the thread, and in the system prompt "
        "`store.search` for the question, with its default of 10 memories. All memories: every one "
        "of the store, without a question"
    ),
)
MEM0 = Peer(
    "mem0_search",
    "mem0",
    ("mem0ai",),
    (
        "the prompt of its README: `search` with top_k 3 in the system prompt, then the question, "
        "and no conversation. In the other rows the conversation stands between them, and the oldest "
        "turns leave. `add` has `infer=False`, `update` replaces what changed. Memories below its "
        "threshold of 0.1 are not sent, so its prompt has one on average, not three"
    ),
)
PEERS = (LLAMA_INDEX, LANGGRAPH, MEM0)


@dataclass(frozen=True, slots=True)
class Beside:
    """One configuration of a library. `told` is passed to its process."""

    name: str
    peer: Peer
    told: Mapping[str, Any]


def configurations(budget: int, *, whole: bool) -> list[Beside]:
    """Return the configurations. `whole` says whether the conversation fits the budget. LlamaIndex
    then has its own default limit.
    """
    limit = None if whole else budget - RESERVED
    made = []
    for title, blocks in (("all blocks", "documented"), ("facts block alone", "facts")):
        for insert in ("system", "user"):
            name = f"LlamaIndex, {title}, insert_method {insert}"
            settings = {"blocks": blocks, "insert": insert, "limit": limit}
            made.append(Beside(name, LLAMA_INDEX, settings))
    for title, search in (("store search", True), ("all memories", False)):
        name = f"LangGraph, trim_messages, {title}"
        made.append(Beside(name, LANGGRAPH, {"limit": budget, "search": search}))
    settings = {"limit": budget, "history": True}
    return [*made, Beside("mem0, its prompt and the conversation", MEM0, settings)]


def without_the_conversation(budget: int) -> Beside:
    """Return the configuration with the prompt of mem0's README."""
    settings = {"limit": budget, "history": False}
    return Beside("mem0, its prompt as documented: no conversation", MEM0, settings)


def measured(beside: Beside, *, budget: int, turns: int) -> Measured:
    """Return the measurements of the conversation in this library. Raises `RuntimeError` if its
    process fails.
    """
    print(f"  {beside.name}", file=sys.stderr, flush=True)
    python = python_of(beside.peer)
    with tempfile.TemporaryDirectory(prefix="prompt-") as folder:
        order = json.dumps({"turns": turns, "folder": folder, **beside.told})
        module = f"{__package__}.peers.{beside.peer.module}"
        done = subprocess.run(
            [str(python), "-m", module, order],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=paths.PROJECT,
            env=_environment(folder),
        )
    if done.returncode != 0:
        raise RuntimeError(f"{beside.name}: {done.stderr.strip().splitlines()[-1:]}")
    sums = Measured()
    for turn, line in zip(conversation(turns), done.stdout.splitlines(), strict=True):
        sums.add(turn, json.loads(line), budget=budget)
    return sums


def _environment(folder: str) -> dict[str, str]:
    """Return the environment variables with which nothing is sent to other machines: the token
    table is ours, and no library reports its use.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": folder,
        "TIKTOKEN_CACHE_DIR": _token_tables(),
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _token_tables() -> str:
    """Return the folder of the rank tables, under the names that tiktoken looks for."""
    spec = find_spec(RANKS_PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError("the token tables are not installed: run make setup")
    return str(Path(spec.origin).parent)
