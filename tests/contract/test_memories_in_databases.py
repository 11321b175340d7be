"""The stores of docs/stores.md print what the page shows, and pass the suite that ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mongomock
import pytest

from tests.contract.shops import run, shop_of
from tests.documents import pages
from tests.engines import databases
from tests.engines.npm import required

PAGE = "stores.md"
DOUBLE = """
import mongomock

mongomock.patch("mongodb://localhost:27017", on_new="create").start()
"""
MAKES = """

def made_redis():
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.flushall()
    return RedisMemories(client)


def made_mongo():
    client = pymongo.MongoClient("mongodb://localhost:27017")
    client.drop_database("palimpsest")
    return MongoMemories(client)
"""


@pytest.fixture
def redis_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    reason = databases.install("redis")
    if reason is not None:
        pytest.fail(reason) if required() else pytest.skip(reason)
    with databases.running("redis") as url:
        monkeypatch.setenv("REDIS_URL", url)
        yield url


def test_the_page_prints_what_it_shows(redis_url: str) -> None:
    with mongomock.patch("mongodb://localhost:27017", on_new="create"):
        pages.run_python(PAGE, {})


@pytest.mark.parametrize("makes", ["shop:made_redis", "shop:made_mongo"])
def test_a_store_of_the_page_passes_the_suite(redis_url: str, tmp_path: Path, makes: str) -> None:
    classes = "".join(
        block.text.split("\nclient = ")[0] + "\n"
        for block in pages.blocks_of(PAGE)
        if block.language == "python"
    )
    shop = shop_of(tmp_path, DOUBLE + classes + MAKES)
    done = run(shop, "", "--palimpsest-memory-store", makes)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
