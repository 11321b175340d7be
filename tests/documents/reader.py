"""A reader of the documents: a folder with the files that pages speak of, a service that it knows,
and a model.
"""

import json
from pathlib import Path

import pytest

from tests.documents import shell
from tests.served import KEY


def sits_down(folder: Path, monkeypatch: pytest.MonkeyPatch, *, service: str, model: str) -> None:
    """Have this process be in that folder, which knows the service at one address, with a model at
    the other.
    """
    (folder / ".local").mkdir(parents=True)
    (folder / ".local" / "endpoint.json").write_text(json.dumps({"url": service, "api_key": KEY}))
    for name, text in shell.files():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_BASE_URL", model)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    for name in ("PALIMPSEST_URL", "PALIMPSEST_API_KEY"):
        monkeypatch.delenv(name, raising=False)
