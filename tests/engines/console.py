"""The libraries that the console's page carries, bundled from npm's packages into one script.

python -m tests.engines.console     # writes layers/console/python/palimpsest_console/vendor.js
"""

import subprocess

from infra import paths
from tests.engines import npm

VENDOR = paths.LAYERS / "console" / "python" / "palimpsest_console" / "vendor.js"
ESBUILD = npm.NODE_MODULES / "esbuild" / "bin" / "esbuild"
NOTICE = (
    "/* preact 11.2.0 (MIT, Copyright (c) 2015-present Jason Miller) and"
    " htm 3.1.1 (Apache-2.0, Copyright 2018 Google Inc.), bundled. */\n"
)
ENTRY = """
import { h, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import htm from "htm";

globalThis.preactWithHtm = { html: htm.bind(h), render, useEffect, useRef, useState };
"""
OPTIONS = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--legal-comments=none",
    "--charset=utf8",
    "--target=es2022",
)


def bundled() -> str:
    """The script as it is checked in."""
    done = subprocess.run(
        [npm.NODE, ESBUILD, *OPTIONS],
        cwd=npm.ENGINES,
        input=ENTRY,
        capture_output=True,
        text=True,
        check=True,
    )
    return NOTICE + done.stdout


if __name__ == "__main__":
    npm.install()
    VENDOR.write_text(bundled())
