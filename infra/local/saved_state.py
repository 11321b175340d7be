"""The saved state of the local AWS. This module finds the newest snapshot, reports its age, and
lets it be used on another port.
"""

import re
from datetime import datetime
from pathlib import Path

ADDRESS = re.compile(rb"http://localhost:(\d+)/")
WITH_ADDRESSES = ("apigateway", "cloudformation", "lambda", "sqs")
"""The services whose state holds addresses. The last one is the service from which the saved port
is read.
"""
UNFINISHED = ".unfinished"
STOPPED = "stopped"
"""A file in the snapshot of a process that ended in order. The next start removes it."""
AT_STAKE = "at_stake"
"""The name of a file with a number of seconds. That is the longest time until the next snapshot, if
writing it takes as long as writing this one.
"""
PROMISED_SECONDS = 10


def newest(folder: Path) -> Path | None:
    """Return the last complete snapshot, or None if there is none. A snapshot is a folder whose
    name is its time in nanoseconds.
    """
    return max((snapshot for snapshot in folder.glob("*") if snapshot.name.isdigit()), default=None)


def taken_up(snapshot: Path) -> str:
    """Return one sentence about the snapshot from which the local AWS starts. If the last process
    was killed, it says how much may be lost. From now on, the snapshot counts as one of a running
    process.
    """
    moment = datetime.fromtimestamp(int(snapshot.name) / 1e9).astimezone()
    stopped = snapshot / STOPPED
    was_stopped = stopped.is_file()
    stopped.unlink(missing_ok=True)
    if was_stopped:
        return f"Found what the last stop saved, {moment:%Y-%m-%d %H:%M:%S}"
    return (
        f"The local AWS did not end in order. Found its snapshot of {moment:%Y-%m-%d %H:%M:%S}: "
        f"what was acknowledged after that ({_at_stake(snapshot)} s at most) is lost"
    )


def _at_stake(snapshot: Path) -> int:
    """Return how many seconds of changes a kill could lose. That is 10, unless so much is stored
    that a snapshot takes longer.
    """
    noted = snapshot / AT_STAKE
    return max(PROMISED_SECONDS, int(noted.read_text())) if noted.is_file() else PROMISED_SECONDS


def move_to(port: int, snapshot: Path) -> None:
    """Replace the port in the addresses of queues. Queues are known by their addresses, so nothing
    would read them otherwise.
    """
    queues = snapshot / f"{WITH_ADDRESSES[-1]}.json"
    saved_at = ADDRESS.search(queues.read_bytes()) if queues.is_file() else None
    if saved_at is None or int(saved_at[1]) == port:
        return
    before, after = (f"http://localhost:{number}".encode() for number in (int(saved_at[1]), port))
    for file in (snapshot / f"{name}.json" for name in WITH_ADDRESSES):
        file.write_bytes(file.read_bytes().replace(before, after))
