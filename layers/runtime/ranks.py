"""Builds the package `tiktoken_ranks`: the token tables that tiktoken would otherwise download at a
cold start.

    python layers/runtime/ranks.py DESTINATION      # makes DESTINATION/tiktoken_ranks/

The tables come out of a wheel on PyPI and are checked against the digests that tiktoken itself
pins, so their source need not be trusted. Nothing happens when they are already there.

Beside each table is a sorted copy, in which a process looks up a token without reading the whole
file. The copy holds the number of tokens, the end of each token, their ranks (32 bits each,
little-endian), and the tokens one after the other.
"""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from base64 import b64decode
from itertools import accumulate
from pathlib import Path
from struct import pack

PACKAGE = "tiktoken_ranks"
SOURCE = "llama-index-core==0.14.25"
FOLDER = "llama_index/core/_static/tiktoken_cache/"
# A file's name is what tiktoken looks for in its cache folder; the digest is the one in
# tiktoken_ext.openai_public.
RANKS = {
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4": (  # cl100k_base
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    ),
    "fb374d419588a4632f3f557e76b4b70aebbca790": (  # o200k_base
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    ),
}


def build(destination: Path) -> Path:
    """Makes the package in `destination`, unless it is there whole already, and returns its
    folder.
    """
    package = destination / PACKAGE
    if not _is_whole(package):
        package.mkdir(parents=True, exist_ok=True)
        for name, data in _fetch().items():
            (package / name).write_bytes(data)
        (package / "__init__.py").touch()
    for name in RANKS:
        (package / f"{name}.sorted").write_bytes(_sorted((package / name).read_bytes()))
    return package


def _sorted(table: bytes) -> bytes:
    lines = map(bytes.split, table.splitlines())
    tokens = sorted((b64decode(token), int(rank)) for token, rank in lines)
    ends = accumulate(len(token) for token, _ in tokens)
    numbers = (len(tokens), *ends, *(rank for _, rank in tokens))
    return pack(f"<{len(numbers)}I", *numbers) + b"".join(token for token, _ in tokens)


def _is_whole(package: Path) -> bool:
    if not (package / "__init__.py").is_file():
        return False
    return all(
        (package / name).is_file() and _digest((package / name).read_bytes()) == RANKS[name]
        for name in RANKS
    )


def _fetch() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        _download(Path(folder))
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            tables = {name: archive.read(FOLDER + name) for name in RANKS}
    for name, data in tables.items():
        if _digest(data) != RANKS[name]:
            raise SystemExit(f"{SOURCE}: {name} is not the table that tiktoken pins")
    return tables


def _download(folder: Path) -> None:
    """Fetches the wheel by name with pip: this interpreter's or, in an environment without pip, the
    base one's.
    """
    python = sys.executable if importlib.util.find_spec("pip") else _base_python()
    options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check")
    subprocess.run(
        [python, "-m", "pip", "download", *options, "--dest", str(folder), SOURCE], check=True
    )


def _base_python() -> str:
    return str(getattr(sys, "_base_executable", sys.executable))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    build(Path(sys.argv[1]))
