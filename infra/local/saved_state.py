"""Repairs the state that the local AWS saved when it was stopped, before it starts with that state again."""

import json
import re
from pathlib import Path

ADDRESS = re.compile(rb"http://localhost:(\d+)/")
POSITIONS = b'"dynamodb_stream_positions": '
WITH_ADDRESSES = ("apigateway", "cloudformation", "lambda", "sqs")


def repair(folder: Path, *, port: int) -> None:
    """Repair the saved state in that folder for a start on that port; does nothing if there is none."""
    if (folder / "sqs.json").is_file():
        _forget_stream_positions(folder / "lambda.json")
        _move_to(port, folder)


def _forget_stream_positions(saved: Path) -> None:
    """Remove the saved stream positions: the streams are not saved, so an old position would skip new records.

    Only that part of the file is parsed: the layers in it are 200 MB.
    """
    content = saved.read_bytes()
    begin = content.rindex(POSITIONS) + len(POSITIONS)
    rest = content[begin:].decode()
    positions, end = json.JSONDecoder().raw_decode(rest)
    emptied = json.dumps({**positions, "data": {}})
    saved.write_bytes(content[:begin] + f"{emptied}{rest[end:]}".encode())


def _move_to(port: int, folder: Path) -> None:
    """Replace the port in the addresses of queues, by which they are known; nothing would read them otherwise."""
    saved_at = ADDRESS.search((folder / "sqs.json").read_bytes())
    if saved_at is None or int(saved_at[1]) == port:
        return
    before, after = (f"http://localhost:{each}".encode() for each in (int(saved_at[1]), port))
    for name in WITH_ADDRESSES:
        file = folder / f"{name}.json"
        file.write_bytes(file.read_bytes().replace(before, after))
