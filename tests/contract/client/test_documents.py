"""What docs/client.md shows is run as it stands."""

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.contract.client.conftest import ROOT
from tests.served import KEY, Served


def snippets(document: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / document).read_text(), re.MULTILINE | re.DOTALL
    )


def test_the_client_does_what_its_document_shows(
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "endpoint.json").write_text(
        json.dumps({"url": served.url, "api_key": KEY})
    )
    (tmp_path / "chats.jsonl").write_text(
        '{"session_id": "old", "messages": [{"role": "user", "content": "I own a dog."}]}'
    )
    monkeypatch.chdir(tmp_path)
    for name in ("PALIMPSEST_URL", "PALIMPSEST_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    names = runpy.run_path(str(ROOT / "tests" / "adapters" / "given" / "client.py"))
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    for snippet in snippets("client.md"):
        exec(snippet, names)  # noqa: S102 - our own document
    said = capsys.readouterr().out
    assert "I do not know yet." in said
    assert "['Nora lives in Bremen.'" in said
    assert "'received': 1" in said
    assert "'memories': {'state': 'done'" in said
