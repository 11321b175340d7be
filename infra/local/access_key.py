"""The AWS access key of the local AWS. It is made anew at each start, and kept in a file that only
its owner can read.
"""

import base64
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from infra import paths


@dataclass(frozen=True, slots=True)
class AccessKey:
    id: str
    secret: str


def make(folder: Path) -> Path:
    """Replace the key of the last start, and return its file."""
    key = AccessKey(
        "AKIA" + base64.b32encode(secrets.token_bytes(10)).decode(), secrets.token_urlsafe(30)
    )
    return paths.write_private(_file(folder), json.dumps(asdict(key)))


def read(folder: Path) -> AccessKey:
    """Return the key of the last start. Raises `FileNotFoundError` if there was no start."""
    return AccessKey(**json.loads(_file(folder).read_text()))


def _file(folder: Path) -> Path:
    return folder / "access_key.json"
