"""Another commit of this project that is measured beside the present one: its files, and its layers
as its own code builds them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra import paths

BUILDS = """
import json
from infra import layer_build

wheels = layer_build.on_this_machine()
own = [name for name in ("console", "description", "graph") if name in layer_build.OWN]
built = [layer_build.build(name, wheels) for name in ("runtime", "models", *own)]
built.append(layer_build.build_core(wheels))
print(json.dumps([str(layer.folder / "python") for layer in built]))
"""


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of that commit. Its build results are kept for the next run.

    Raises `SystemExit` for a commit that this repository does not have.
    """
    commit_id = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").stdout.strip()
    if not commit_id:
        sys.exit(f"This repository has no commit {commit}.")
    beside = paths.BUILD / "beside" / commit_id[:12]
    tree = beside / "tree"
    _git("worktree", "remove", "--force", str(tree))  # a run before this one was stopped
    shutil.rmtree(tree, ignore_errors=True)
    made = _git("worktree", "add", "--quiet", "--force", "--detach", str(tree), commit_id)
    if made.returncode:
        sys.exit(made.stderr)
    (beside / "build").mkdir(exist_ok=True)
    (tree / ".build").symlink_to(beside / "build")
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def layers_of(tree: Path) -> list[Path]:
    """Return the packages of the layers that an HTTP function in this tree may have."""
    done = subprocess.run(
        [sys.executable, "-c", BUILDS], cwd=tree, check=True, stdout=subprocess.PIPE, text=True
    )
    return [Path(folder) for folder in json.loads(done.stdout.splitlines()[-1])]


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=paths.PROJECT, check=False, capture_output=True, text=True)
