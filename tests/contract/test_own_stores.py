"""Stores of a user's own: `AgentMemory` works over them, and the suite that ships with it finds
their faults.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from palimpsest import AgentMemory

from layers.testing.suite import PARTS
from tests.contract.shops import run, shop_of

SHOP = '''
"""Stores in one file, which is written after every change."""

import pickle
from dataclasses import fields
from pathlib import Path

from palimpsest_local.in_process import within
from palimpsest_local.stores.state import State


def made(path=None):
    state = State()
    stores = within(state)
    kept = [field.name for field in fields(State) if field.name not in ("faults", "lock")]
    if path is not None and Path(path).exists():
        for name, value in pickle.loads(Path(path).read_bytes()).items():
            setattr(state, name, value)

    def write(step):
        if path is not None and step.startswith("after"):
            Path(path).write_bytes(pickle.dumps({name: getattr(state, name) for name in kept}))

    state.faults = write
    return stores


def careless():
    """Writes whatever it is given, whoever was first."""
    stores = made()
    commit = stores.sessions.commit

    def forced(scope, change):
        from dataclasses import replace

        head = stores.sessions.open(scope).head
        commit(scope, replace(change, before=head, begins=head is None))

    stores.sessions.commit = forced
    return stores
'''


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop_of(tmp_path_factory.mktemp("shop"), SHOP)


def test_a_sound_store_passes_the_whole_suite(shop: Path) -> None:
    done = run(shop, "shop:made")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert all(
        f"{part}.py" in {file.name for file in (shop / "palimpsest_testing").iterdir()}
        for part in PARTS
    )
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_a_store_that_forgets_who_was_first_fails_it(shop: Path) -> None:
    done = run(shop, "shop:careless", "-k", "test_commits")
    assert done.returncode == 1
    assert "FAILED palimpsest_testing/test_commits.py" in done.stdout.replace(f"{shop}/", "")
    assert "DID NOT RAISE" in done.stdout


STORE = (Path(__file__).parent / "memory_stores.py").read_text()
FORGETFUL = "\n\ndef made():\n    return ListStore()\n\n\nclass Late(ListStore):\n    def save(self, user, memory):\n"
FORGETFUL += "        self.held[user][memory.id] = memory\n\n\ndef late():\n    return Late()\n"


@pytest.mark.parametrize(("makes", "fails"), [("memos:made", False), ("memos:late", True)])
def test_a_store_of_memories_alone_has_tests_of_its_own(
    shop: Path, makes: str, *, fails: bool
) -> None:
    (shop / "memos.py").write_text(STORE + FORGETFUL)
    done = run(shop, "", "--palimpsest-memory-store", makes)
    assert done.returncode == fails, done.stdout[-3000:] + done.stderr[-3000:]
    assert "deselected" in done.stdout
    assert ("said_later" in done.stdout) == fails


def test_a_run_that_names_no_store_says_what_is_missing(shop: Path) -> None:
    done = run(shop, "", "-k", "test_what_is_not_there_is_none")
    assert done.returncode == 1
    assert "--palimpsest-stores shop.stores:made" in done.stdout


def test_a_memory_over_stores_of_ones_own_knows_after_a_restart_what_it_was_told(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(shop)
    import shop as users  # type: ignore[import-not-found]

    memory = AgentMemory(user="sarah", stores=users.made(tmp_path / "memory.pickle"))
    memory.append("monday", "I live in Lisbon, near the harbour.")
    memory.end("monday")
    memory.preferences.set("language", "German")
    again = AgentMemory(user="sarah", stores=users.made(tmp_path / "memory.pickle"))
    assert (
        again.recall("Where does Sarah live?")["memories"][0]["content"]
        == "I live in Lisbon, near the harbour."
    )
    assert again.preferences.all() == {"language": "German"}
    assert [message["content"] for message in again.history("monday")] == [
        "I live in Lisbon, near the harbour."
    ]
    assert again.append("monday", "And I have a dog.")["window"]["messages"] == 2
