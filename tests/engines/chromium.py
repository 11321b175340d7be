"""A real browser: Debian's chromium, or another of its family that is installed.

python -m tests.engines.chromium     # sets it up, where that may be done; the tests do so
themselves too
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.engines.npm import required

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)
APT = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]


def install() -> str | None:
    """Install it where it is missing and this may be done; why it cannot be had, None if it can."""
    if program() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            [*APT, "update"],
            [*APT, "install", "-y", "--no-install-recommends", "chromium"],
        ):
            subprocess.run(command, env=quiet, check=False, capture_output=True, timeout=240)
    return (
        None
        if program()
        else f"no browser is installed ({', '.join(NAMES)}), and only root can install one"
    )


@contextlib.contextmanager
def showing(url: str) -> Iterator[None]:
    """A browser of its own, with nothing remembered, that shows the page for as long as the block
    lasts.
    """
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        command = [program() or NAMES[0], *OPTIONS, f"--user-data-dir={folder}", url]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield
            finally:
                process.kill()


def program() -> str | None:
    """Where the browser is, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__" and (reason := install()):
    sys.exit(reason) if required() else print(
        f"{reason}: what needs it is skipped", file=sys.stderr
    )
