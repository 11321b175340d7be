"""Runs the Python of a framework's pages in its environment, each page over a service of its own:
run by test_adapters.

GUIDES names pages and the addresses of their services. What a reader brings, such as a model, is
what `given/` defines for the framework.
"""

import os
import runpy
from pathlib import Path

from tests.documents.pages import environment_of, run_python

GIVEN = Path(__file__).with_name("given")


def test_every_page_runs_and_prints_what_it_shows() -> None:
    for page_and_url in os.environ["GUIDES"].split():
        page, _, os.environ["PALIMPSEST_URL"] = page_and_url.partition("=")
        setup = GIVEN / f"{environment_of(page)}.py"
        run_python(page, runpy.run_path(str(setup)) if setup.exists() else {})


if __name__ == "__main__":
    test_every_page_runs_and_prints_what_it_shows()
