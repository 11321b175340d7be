"""The embedding model that runs on one's own machine, built once from its published weights.

python -m tests.engines.minilm     # sets it up; the tests do so themselves too
"""

import subprocess
import sys
from pathlib import Path

from tests.engines.npm import ENGINES, required

BUILDER = Path(__file__).parents[2] / "layers" / "local" / "minilm.py"
FOLDER = ENGINES / "minilm"


def install() -> str | None:
    """Make the model where it is not there yet; why it cannot be had, None if it can."""
    built = subprocess.run([sys.executable, BUILDER, ENGINES], timeout=600, check=False, capture_output=True, text=True)
    return None if built.returncode == 0 else f"MiniLM could not be built: {built.stderr.strip()[-300:]}"


if __name__ == "__main__" and (reason := install()):
    sys.exit(reason) if required() else print(f"{reason}: what needs it is skipped", file=sys.stderr)
