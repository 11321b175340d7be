"""Runs the Python of pages in the environment of their framework, each over a service of its own.

python guide.py PAGE URL [PAGE URL …]     # with PALIMPSEST_API_KEY set

What a reader brings, such as a model, is what `given/` defines for the framework.
"""

import os
import runpy
import sys
from pathlib import Path

from tests.documents.pages import environment_of, run_python

GIVEN = Path(__file__).with_name("given")

for page, url in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    os.environ["PALIMPSEST_URL"] = url
    given = GIVEN / f"{environment_of(page)}.py"
    run_python(page, runpy.run_path(str(given)) if given.exists() else {})
