"""Nothing stays open: neither where a program closes the client, nor where it does not."""

import asyncio
import os
import subprocess
import sys

import pytest
from palimpsest_client import AsyncPalimpsest, Palimpsest

from tests.served import KEY, Served

PROGRAMS = {
    "left open": "from palimpsest_client import Palimpsest; print(list(Palimpsest().users()))",
    "closed": "from palimpsest_client import Palimpsest\nwith Palimpsest() as memory: "
    "print(list(memory.users()))",
    "left open in a loop": """
import asyncio
from palimpsest_client import AsyncPalimpsest
async def main():
    memory = AsyncPalimpsest()
    print([user async for user in memory.users()])
asyncio.run(main())
""",
    "closed in a loop": """
import asyncio
from palimpsest_client import AsyncPalimpsest
async def main():
    async with AsyncPalimpsest() as memory:
        print([user async for user in memory.users()])
asyncio.run(main())
""",
    "command line": "import sys; from palimpsest_client.cli import main; sys.argv[1:] = "
    "['sessions', '--json']; main()",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_program_leaves_a_socket_open(served: Served, program: str) -> None:
    told = os.environ | {"PALIMPSEST_URL": served.url, "PALIMPSEST_API_KEY": KEY}
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_a_client_of_one_event_loop_can_be_used_in_another(served: Served) -> None:
    memory = AsyncPalimpsest(served.url, KEY)

    async def users() -> list[str]:
        return [user["user_id"] async for user in memory.users()]

    assert asyncio.run(users()) == asyncio.run(users()) == []


def test_what_was_closed_stays_closed(served: Served) -> None:
    blocking, awaited = Palimpsest(served.url, KEY), AsyncPalimpsest(served.url, KEY)
    blocking.close()
    with pytest.raises(RuntimeError, match="closed"):
        list(blocking.users())

    async def ask() -> None:
        await awaited.close()
        with pytest.raises(RuntimeError, match="closed"):
            await awaited.settings()

    asyncio.run(ask())
