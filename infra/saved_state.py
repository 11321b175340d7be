"""Mends what the local AWS saved when it was stopped, before it is started with it again."""

import json
import re
from pathlib import Path

ADDRESS = re.compile(rb"http://localhost:(\d+)/")
WITH_ADDRESSES = ("apigateway", "cloudformation", "lambda", "sqs")


def mend(folder: Path, *, port: int) -> None:
    """Do nothing where nothing is saved yet."""
    if (folder / "sqs.json").is_file():
        _forget_stream_positions(folder / "lambda.json")
        _move_to(port, folder)


def _forget_stream_positions(saved: Path) -> None:
    """Positions in streams are saved, but not the streams: a mapping would skip what it has not seen."""
    state = json.loads(saved.read_text())
    state["payload"]["dynamodb_stream_positions"]["data"] = {}
    saved.write_text(json.dumps(state))


def _move_to(port: int, folder: Path) -> None:
    """Queues are known by their address, port included: without this nothing reads them on another one."""
    saved_at = ADDRESS.search((folder / "sqs.json").read_bytes())
    if saved_at is None or int(saved_at[1]) == port:
        return
    before, after = (f"http://localhost:{each}".encode() for each in (int(saved_at[1]), port))
    for name in WITH_ADDRESSES:
        file = folder / f"{name}.json"
        file.write_bytes(file.read_bytes().replace(before, after))
