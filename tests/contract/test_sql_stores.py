"""The stores of one machine in SQL databases: a file of SQLite, and servers of PostgreSQL and
MariaDB. They pass the suite that ships for stores of one's own, and `AgentMemory(url=…)` keeps in
them what it knows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from palimpsest import AgentMemory
from palimpsest.errors import BadRequest, Unavailable
from palimpsest.scope import Scope
from palimpsest_local.sql.database import Database
from palimpsest_local.sql.shelves import SqlShelves
from palimpsest_local.stores import feed
from palimpsest_local.stores.shelves import Kind
from sqlalchemy import NullPool, create_engine, text

from tests.contract.shops import run, shop_of
from tests.engines import databases
from tests.engines.npm import required

SERVERS = ("postgresql", "mariadb")
WORDS: Kind[str, str] = Kind("word", str, str)
NUMBERS: Kind[int, int] = Kind("number", int, int)
Made = Callable[..., AgentMemory]
MAKES = """
import os

from palimpsest_local.in_process import within
from palimpsest_local.sql.stores import state_at
from sqlalchemy import create_engine, text


def made():
    url = os.environ["DATABASE_URL"]
    stores = within(state_at(url))
    with create_engine(url).begin() as connection:
        connection.execute(text("DELETE FROM palimpsest_rows"))
    return stores
"""


@pytest.fixture(scope="module", params=("sqlite", *SERVERS))
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'memory.db'}"
        return
    reason = databases.install(request.param)
    if reason is not None:
        pytest.fail(reason) if required() else pytest.skip(reason)
    with databases.running(request.param) as running:
        yield running


@pytest.fixture
def empty(url: str) -> str:
    Database(url).close()
    asked(url, "DELETE FROM palimpsest_rows")
    return url


def asked(url: str, statement: str) -> list[str]:
    """Return the first column of a statement's rows, or nothing if it has none."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        result = connection.execute(text(statement))
        return [row[0] for row in result] if result.returns_rows else []


@pytest.fixture
def made() -> Iterator[Callable[..., AgentMemory]]:
    """Makes memories of Sarah, and closes them in the end."""
    with ExitStack() as stack:

        def make(url: str, **options: Any) -> AgentMemory:
            memory = AgentMemory(user="sarah", url=url, **options)
            stack.callback(memory.close)
            return memory

        yield make


@pytest.fixture
def shelves(empty: str) -> Iterator[SqlShelves]:
    database = Database(empty)
    yield SqlShelves(database)
    database.close()


def test_the_stores_pass_the_suite_for_stores_of_ones_own(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_of(tmp_path, MAKES)
    monkeypatch.setenv("DATABASE_URL", url)
    done = run(shop, "shop:made")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout


def test_another_process_knows_what_was_said(empty: str, made: Made) -> None:
    memory = made(empty, static_facts=["We open at 9."])
    memory.append("monday", "I live in Lisbon, near the harbour.")
    memory.end("monday")
    memory.preferences.set("language", "German")
    again = made(empty)
    found = again.recall("Where does Sarah live?")["memories"]
    assert found[0]["content"] == "I live in Lisbon, near the harbour."
    assert again.preferences.all() == {"language": "German"}
    assert [message["content"] for message in again.history("monday")] == [
        "I live in Lisbon, near the harbour."
    ]
    assert "We open at 9." in again.context("monday", "Hello")["memory_prompt"]
    assert again.append("monday", "And I have a dog.")["window"]["messages"] == 2


def test_two_memories_over_one_database_find_each_others_words(empty: str, made: Made) -> None:
    first, second = (made(empty) for _ in range(2))
    first.append("monday", "My dentist is Dr. Okafor.")
    first.end("monday")
    second.append("tuesday", "Hello!")
    assert "Okafor" in second.recall("Who is the dentist?")["memories"][0]["content"]


def test_a_process_that_missed_changes_builds_its_index_anew(
    empty: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "KEPT", 4)
    first, second = (made(empty) for _ in range(2))
    first.append("monday", "My dentist is Dr. Okafor.")
    second.append("sunday", "Hello!")
    assert keyword(second, "Okafor") == ["My dentist is Dr. Okafor."]
    index, owner = second._service.index, Scope("local").user("sarah")
    indexed = index.keys(owner, limit=100)
    first.append("tuesday", "My bicycle is green.")
    first.delete("monday")
    for number in range(12):  # each time the oldest changes are removed
        first.append("wednesday", f"The weather is fine, day {number}.")
    second.append("sunday", "Hello again!")
    assert keyword(second, "bicycle") == ["My bicycle is green."]
    gone = {key for key in indexed if key.startswith("monday")}
    assert gone
    assert not gone & set(index.keys(owner, limit=100))


def keyword(memory: AgentMemory, words: str) -> list[str]:
    return [found["content"] for found in memory.search(words, mode="keyword")]


def test_writers_of_several_processes_lose_nothing(empty: str, made: Made) -> None:
    memories = [made(empty) for _ in range(4)]

    def append(number: int) -> None:
        for turn in range(5):
            memories[number].append("monday", f"Writer {number} says {turn}.")

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [str(message["content"]) for message in memories[0].history("monday")]
    assert len(said) == 20
    for number in range(4):
        own = [line for line in said if line.startswith(f"Writer {number}")]
        assert own == [f"Writer {number} says {turn}." for turn in range(5)]


def test_what_raises_in_a_transaction_stores_nothing(shelves: SqlShelves) -> None:
    words = shelves.shelf(WORDS, "tenant", "user")
    words["kept"] = "before"

    def fail() -> None:
        with shelves.turn():
            words["kept"] = "changed"
            words["new"] = "lost"
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert dict(words.items()) == {"kept": "before"}


def test_keys_that_differ_only_late_or_in_case_are_two(shelves: SqlShelves) -> None:
    words = shelves.shelf(WORDS, "tenant")
    keys = ["a" * 400 + "1", "a" * 400 + "2", "Straße", "STRASSE", "straße", "ключ", "键", "trail "]
    for key in keys:
        words[key] = key
    assert sorted(words) == sorted(keys)
    assert words.several([*keys[:2], "missing"]) == {key: key for key in keys[:2]}
    del words[keys[0]]
    assert keys[0] not in words


def test_numbers_are_ordered_as_numbers(shelves: SqlShelves) -> None:
    numbers = shelves.series(NUMBERS, "tenant", "talk")
    for number in (9, 10, 100, 11, 2):
        numbers.put(number, number)
    assert numbers.between(3, 100) == [9, 10, 11, 100]
    assert numbers.between(0, 99, newest_first=True, limit=2) == [11, 10]
    assert numbers.remove_between(0, 50, limit=3) == 3
    assert numbers.between(0, 1_000) == [11, 100]


def test_system_messages_may_be_in_another_database(empty: str, made: Made, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'system.db'}"
    memory = made(empty, system_url=other)
    memory.append("monday", {"role": "system", "content": "Answer in rhymes."})
    memory.append("monday", "I live in Lisbon.")
    kinds = set(asked(empty, "SELECT kind FROM palimpsest_rows"))
    system = asked(other, "SELECT body FROM palimpsest_rows")
    assert "message" in kinds
    assert "settings" not in kinds
    assert "Answer in rhymes." in system[0]
    again = made(empty, system_url=other)
    assert "Answer in rhymes." in str(again.context("monday")["messages"][0]["content"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"url": "nonsense"}, "invalid_url"),
        ({"url": "unknown://host/name"}, "invalid_url"),
        ({"system_url": "sqlite://"}, "invalid_url"),
    ],
)
def test_a_wrong_url_is_refused(arguments: dict[str, str], code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        AgentMemory(user="sarah", **arguments)  # type: ignore[arg-type]
    assert refused.value.code == code


def test_a_database_that_cannot_be_reached_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        AgentMemory(user="sarah", url=f"sqlite:///{tmp_path / 'missing' / 'memory.db'}")
