"""Unpacks each layer once for all processes of all functions; MiniStack by itself unpacks it for every process."""

import hashlib
import io
import os
import shutil
import tempfile
import threading
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc

LAYERS = "_LAMBDA_LAYERS_DIRS"
"""The variable that holds the folders of a process's layers, in the order in which they go onto its path."""


class SharingWorker(lambda_runtime.Worker):  # type: ignore[misc]
    """A process of a function, started with the layers' folders instead of the layers."""

    config: dict[str, Any]

    def _spawn(self) -> None:
        own = self.config
        variables = own.get("Environment", {}).get("Variables", {})
        folders = [str(_folder(layer)) for layer in own.get("Layers", [])]
        shared = {**variables, LAYERS: os.pathsep.join(folders)}
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


@cache  # a layer's bytes hash once: the interpreter remembers the hash of a bytes object
def _unpacked(content: bytes) -> Path:
    """The folder of that content, below the folder for temporary files; made as a whole or not at all."""
    folder = Path(tempfile.gettempdir()) / "layers" / hashlib.sha256(content).hexdigest()[:16]
    if not folder.is_dir():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(unfinished)
        unfinished.replace(folder)
    return folder


def install() -> None:
    """Make MiniStack start every process of a Python function this way."""
    lambda_runtime.Worker = SharingWorker
