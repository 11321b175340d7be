"""Unpacks each layer once for all processes of all functions; MiniStack by itself unpacks it for every process."""

import io
import os
import shutil
import tempfile
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from infra import paths
from infra.local.snapshots import digest

LAYERS = paths.BUILD / "unpacked"
UNUSED_SECONDS = 7 * 24 * 3600
VARIABLE = "_LAMBDA_LAYERS_DIRS"
"""The variable that holds the folders of a process's layers, in the order in which they go onto its path."""


class SharingWorker(lambda_runtime.Worker):  # type: ignore[misc]
    """A process of a function, started with the layers' folders instead of the layers."""

    config: dict[str, Any]

    def _spawn(self) -> None:
        own = self.config
        variables = own.get("Environment", {}).get("Variables", {})
        folders = [str(_folder(layer)) for layer in own.get("Layers", [])]
        shared = {**variables, VARIABLE: os.pathsep.join(folders)}
        self.config = {**own, "Layers": [], "Environment": {"Variables": shared}}
        try:
            super()._spawn()
        finally:
            self.config = own


def _folder(layer: Any) -> Path:
    content: bytes | None = lambda_svc._resolve_layer_zip(layer)  # noqa: SLF001 - MiniStack has no public way to ask
    if content is None:
        raise RuntimeError(f"There is no layer {layer}")
    with _UNPACKING:
        return _unpacked(content)


_UNPACKING = threading.Lock()


def _unpacked(content: bytes) -> Path:
    """The folder of that content, made as a whole or not at all. All stacks of this project share it."""
    folder = LAYERS / digest(content)[:16]
    if not folder.is_dir():
        LAYERS.mkdir(exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=LAYERS))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(unfinished)
        with suppress(OSError):  # another stack was faster
            unfinished.rename(folder)
    folder.touch()
    return folder


def install() -> None:
    """Make MiniStack start processes of Python functions this way, and remove layers that were not used for a week."""
    for folder in LAYERS.glob("*"):
        if folder.stat().st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    lambda_runtime.Worker = SharingWorker
