"""The work that a function does once, when it starts in Lambda. Handlers call it. Importing this
module changes nothing.
"""

from __future__ import annotations

import dataclasses
import gc
import marshal
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name(f"dataclasses.{sys.implementation.cache_tag}.marshal")
"""The file with the compiled code of dataclasses for this version of Python, by the SHA-256 of its
text. infra/dataclass_code.py writes the file into the layer.
"""


def use_ready_code(file: Path = FILE) -> None:
    """Let `dataclass` use compiled code from the file. Code that the file lacks is compiled as
    before, and without a file nothing changes.

    This saves a new process the compilation of 250 texts, which is a quarter of its CPU time until
    the first answer. It defines the name `exec` in the module `dataclasses`, where it hides the
    built-in function.
    """
    if not file.is_file():
        return
    known: dict[bytes, bytes] = marshal.loads(file.read_bytes())  # noqa: S302 - shipped with the library, as its bytecode

    def run(text: str, variables: dict[str, Any], names: Mapping[str, Any]) -> None:
        ready = known.get(sha256(text.encode()).digest())
        code = (
            marshal.loads(ready) if ready else compile(text, "<string>", "exec", dont_inherit=True)  # noqa: S302
        )  # noqa: RUF100, S302
        exec(code, variables, names)  # noqa: S102 - as `dataclass` does

    vars(dataclasses)["exec"] = run


def begin() -> None:
    """Prepare this process to start fast. Call it before an import that declares dataclasses."""
    use_ready_code()
    if _runs_in_lambda():
        # until `warm` is done, because nothing that a function loads at its start is garbage
        gc.disable()


def warm(build: Callable[[], object]) -> None:
    """Call `build` while the function starts in Lambda, so that the first request need not wait. Do
    nothing elsewhere.
    """
    if _runs_in_lambda():
        _trace()
        build()
        gc.freeze()  # it will not be garbage later either, so no collection looks at it again
        gc.enable()


def _trace() -> None:
    """Begin to trace, if the settings name a tracer or a collector. Otherwise nothing is loaded."""
    from palimpsest import settings

    if not settings.is_traced():
        return
    environment = settings.FunctionSettings.read()
    from palimpsest import tracing
    from palimpsest.engines.opentelemetry import OpenTelemetryTracer, sends_to

    exporter = sends_to(environment.traces_endpoint)
    service, share = environment.powertools_service_name, environment.traces_share
    tracing.use(
        OpenTelemetryTracer(exporter, service=service, share=share, stage=environment.stage)
    )


def _runs_in_lambda() -> bool:
    from palimpsest import settings  # it loads pydantic, which declares dataclasses of its own

    return settings.runs_in_lambda()
