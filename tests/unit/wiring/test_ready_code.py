import os
import subprocess
import sys
from pathlib import Path

import pytest
from palimpsest.wiring.cold_start import FILE

PROJECT = Path(__file__).parents[3]
LOADED = """
import sys
texts = []
sys.addaudithook(lambda event, given: event == "compile" and texts.append(str(given[0])))
from pathlib import Path
from palimpsest.wiring.cold_start import use_ready_code
use_ready_code(Path(sys.argv[1]))
texts.clear()
from palimpsest.scope import UserScope
print(sum("def __create_fn__" in text for text in texts))
"""
MADE = """
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature
from pathlib import Path
import sys
from palimpsest.wiring.cold_start import use_ready_code
if sys.argv[1:]:
    use_ready_code(Path(sys.argv[1]))
from palimpsest.memory.record import Source

@dataclass(frozen=True, slots=True, order=True)
class Unknown:
    name_of_no_library: int
    names_of_none: tuple[str, ...] = field(default_factory=tuple)

for made in (Unknown(4), Unknown(4, ("a",))):
    print(made, hash(made), made == replace(made), made < Unknown(5), signature(type(made)))
    try:
        made.name_of_no_library = 5
    except FrozenInstanceError as error:
        print(error)
print(signature(Source), Source.__init__.__annotations__, Unknown.__init__.__annotations__)
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that a layer would hold, for the Python that runs this."""
    folder = tmp_path_factory.mktemp("code")
    subprocess.run([sys.executable, PROJECT / "infra" / "dataclass_code.py", folder], check=True)  # noqa: S603 - ours
    return folder / FILE.name


def said(script: str, *arguments: Path) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    command: list[str | Path] = [sys.executable, "-c", script, *arguments]
    return subprocess.run(  # noqa: S603
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout  # noqa: RUF100, S603


def test_the_methods_of_a_known_dataclass_are_not_compiled(code: Path, tmp_path: Path) -> None:
    assert int(said(LOADED, code)) == 0
    assert int(said(LOADED, tmp_path / "none")) > 0


def test_a_dataclass_is_the_same_whether_or_not_its_code_is_known(code: Path) -> None:
    without = said(MADE)
    assert "cannot assign to field" in without
    assert said(MADE, code) == without
