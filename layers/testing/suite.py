"""Writes the package `palimpsest_testing`. It has the contract tests that know no engine, and the
modules that these tests use.
"""

import shutil
from pathlib import Path

HERE = Path(__file__).parent
CONTRACT = HERE.parents[1] / "tests" / "contract"
PARTS = (
    "builders", "fixtures", "memory_builders", "test_commits", "test_jobs", "test_memories_commits",
    "test_memories_erasure", "test_memories_expiry", "test_memory_store", "test_reading",
)  # fmt: skip


def written(into: Path) -> Path:
    """Write the package into this folder, which is emptied before, and return the folder."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(
        HERE / "python" / "palimpsest_testing", into, ignore=shutil.ignore_patterns("__pycache__")
    )
    for part in PARTS:
        source = (CONTRACT / f"{part}.py").read_text()
        (into / f"{part}.py").write_text(
            source.replace("from tests.contract.", "from palimpsest_testing.")
        )
    return into
