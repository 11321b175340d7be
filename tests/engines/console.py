"""Bundles the console's page from its sources and npm's packages, so that it needs no npm to serve.

python -m tests.engines.console     # writes app.js and style.css of layers/console
"""

import os
import re
import subprocess
from pathlib import Path

from infra import paths
from tests.engines import npm

SOURCES = paths.LAYERS / "console" / "src"
PAGE = paths.LAYERS / "console" / "python" / "palimpsest_console"
ESBUILD = npm.NODE_MODULES / "esbuild" / "bin" / "esbuild"
ENTRIES = {"app.js": SOURCES / "main.jsx", "style.css": SOURCES / "style" / "style.css"}
NOTICES = {
    "app.js": (
        "/* preact 11.2.0 (MIT, Copyright (c) 2015-present Jason Miller), d3-force 3.0.1 with"
        " d3-quadtree 3.0.2, d3-timer 3.0.2 and d3-dispatch 3.0.2 (ISC, Copyright 2010-2026 Mike"
        " Bostock), lucide 1.65.0 (ISC, Copyright (c) 2026 Lucide Icons and Contributors; MIT,"
        " Copyright (c) 2013-present Cole Bemis), bundled. */\n"
    ),
    "style.css": "/* open-props 1.7.23 (MIT, Copyright (c) 2021 Adam Argyle), bundled. */\n",
}
OPTIONS = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--legal-comments=none",
    "--charset=utf8",
    "--target=es2022,chrome123,firefox120,safari17.5",
    "--jsx=automatic",
    "--jsx-import-source=preact",
)
TOKEN = re.compile(r"(?<=[{;])(--[\w-]+):[^;{}]*;?")


def bundled(name: str) -> str:
    """Return a file of the page as it is checked in: `app.js` or `style.css`."""
    made = _esbuild(ENTRIES[name])
    return NOTICES[name] + (without_unused_tokens(made) if name == "style.css" else made)


def without_unused_tokens(style: str) -> str:
    """Return the style sheet without custom properties that nothing uses. Open Props has hundreds,
    and the page carries its style inline.
    """
    used = frozenset(re.findall(r"var\((--[\w-]+)", style))
    kept = TOKEN.sub(lambda token: token[0] if token[1] in used else "", style)
    if kept == style:
        return style.replace(":where(html){}", "")
    return without_unused_tokens(kept)


def _esbuild(entry: Path) -> str:
    done = subprocess.run(
        [npm.NODE, ESBUILD, entry, *OPTIONS],
        cwd=npm.ENGINES,
        env=os.environ | {"NODE_PATH": str(npm.NODE_MODULES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    npm.install()
    for file in ENTRIES:
        (PAGE / file).write_text(bundled(file))
