"""Builds layers from locked requirements, without Docker, once for each lock file and platform,
into .build/layers/.
"""

import ast
import gzip
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import paths, pythons

RULES = 13
"""A part of every layer's hash. Raise it when the rules below change what a layer contains."""
SERVICES = frozenset(
    {
        "bedrock-agent-runtime",
        "bedrock-runtime",
        "dynamodb",
        "events",
        "kms",
        "lambda",
        "s3",
        "sqs",
        "ssm",
        "sts",
    }
)
"""The AWS services that functions may call. The SDK's data for all other services is left out,
because it is larger than the rest.
"""
UNUSED = (
    "bin",
    ".lock",
    "**/__pycache__",
    "**/*.dist-info/RECORD",
    "**/*.dist-info/INSTALLER",
    "**/*.dist-info/REQUESTED",
    "numpy/**/tests",
    "numpy/_core/include",
    "onnxruntime/backend",  # of ONNX's own test suite, and alone in importing `packaging`
    "onnxruntime/capi/libonnxruntime.so*",  # the Python module has it inside
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "onnxruntime/transformers",
    "openai/*/admin",
    "openai/*/beta",
    "openai/*/evals",
    "openai/*/live",
    "openai/*/realtime",
    "openai/cli",
    "aws_lambda_powertools/event_handler/openapi/swagger_ui",
    "numpy/f2py",
    "numpy/polynomial",  # numpy loads these three only when they are asked for
    "numpy/random",
    "numpy/testing",
    "**/*.pyi",
)

LATE = ("aws_lambda_powertools/event_handler", "aws_lambda_powertools/utilities/data_classes")
"""Packages that load a module for every kind of event, although a function needs only one."""
LATE_CODE = '''"""Loads each name of this package when it is first asked for."""

from importlib import import_module

MODULES = {modules!r}
__all__ = {names!r}


def __getattr__(name):
    if name not in MODULES:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    globals()[name] = found = getattr(import_module(MODULES[name], __name__), name)
    return found
'''


@dataclass(frozen=True, slots=True)
class Wheels:
    """The wheels for a layer, by Python version, platform in uv's words (empty: this machine's),
    and processor.
    """

    python: str
    platform: str
    processor: str

    @property
    def tag(self) -> str:
        return f"{self.platform or sysconfig.get_platform()}-py{self.python}"


ON_AWS = Wheels(python=pythons.DECLARED, platform="aarch64-manylinux_2_28", processor="arm64")


def on_this_machine() -> Wheels:
    """Return the wheels for the local AWS, whose functions run on a Python of this machine."""
    processor = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    return Wheels(
        python=pythons.version_of(pythons.function_python()), platform="", processor=processor
    )


@dataclass(frozen=True, slots=True)
class BuiltLayer:
    """A folder that contains `python/`, and the hash of everything from which it was built."""

    folder: Path
    hash: str


def build(name: str, wheels: Wheels) -> BuiltLayer:
    """Return the layer of layers/<name>/requirements.txt for those wheels. It is built if it is
    missing.
    """
    digest = hash_of(name, wheels)
    folder = paths.BUILD / "layers" / f"{name}-{digest[:16]}"
    with paths.building():
        if not folder.is_dir():
            print(f"Building the layer {name} for {wheels.tag}", file=sys.stderr, flush=True)
            _make(name, wheels, folder)
    return BuiltLayer(folder, digest)


def build_together(names: Sequence[str], wheels: Wheels) -> BuiltLayer:
    """Return one layer with the contents of several. A function may have five layers."""
    parts = [build(name, wheels) for name in names]
    digest = hashlib.sha256(" ".join(part.hash for part in parts).encode()).hexdigest()
    folder = paths.BUILD / "layers" / f"{'-'.join(names)}-{digest[:16]}"
    with paths.building():
        if not folder.is_dir():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            for part in parts:
                shutil.copytree(part.folder, unfinished, copy_function=os.link, dirs_exist_ok=True)
            unfinished.replace(folder)
    return BuiltLayer(folder, digest)


def build_core(wheels: Wheels, *, is_local: bool = False) -> BuiltLayer:
    """Return the layer of the library itself, with its bytecode and the code of its dataclasses. It
    is built anew whenever a source has changed. For functions on one machine, it also contains the
    package for one machine.
    """
    folders = (CORE, LOCAL) if is_local else (CORE,)
    here = on_this_machine()
    beneath = build("runtime", here) if wheels.python == here.python else None
    sources = [source for source_folder in folders for source in _files(source_folder)]
    digest = hashlib.sha256(
        f"{RULES} {wheels.python} {pythons.of_version(wheels.python) is not None}".encode()
    )
    if beneath is not None:
        digest.update(beneath.hash.encode() + DATACLASS_CODE.read_bytes())
    for source in sources:
        place = source.relative_to(paths.LAYERS)
        digest.update(f"{place} {source.stat().st_size} ".encode() + source.read_bytes())
    kind = "local" if is_local else "core"
    folder = paths.BUILD / "layers" / f"{kind}-py{wheels.python}-{digest.hexdigest()[:16]}"
    with paths.building():
        if not folder.is_dir():
            for outdated in folder.parent.glob(f"{kind}-py{wheels.python}-*"):
                shutil.rmtree(outdated)
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            for source_folder in folders:
                _copy(source_folder, unfinished / "python")
            _compile(unfinished / "python", wheels)
            if beneath is not None:
                _compile_dataclasses(unfinished / "python", beneath.folder / "python")
            unfinished.replace(folder)
    return BuiltLayer(folder, digest.hexdigest())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _copy(folder: Path, into: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(folder, into, ignore=ignored, dirs_exist_ok=True)


CORE = paths.LAYERS / "core" / "python"
LOCAL = paths.LAYERS / "local" / "python"
DATACLASS_CODE = Path(__file__).with_name("dataclass_code.py")
BENEATH = {"models": ("runtime",), "builtin": ("runtime", "models"), "traces": ("runtime",)}
"""The layers that every function with this layer has too. Packages of the same version are only in
those layers.
"""


OWN = {
    name: paths.LAYERS / name / "python" for name in ("client", "console", "description", "graph")
}
"""Layers with a package of this project in addition to its requirements."""
TOOLS = frozenset({"client"})
"""Layers whose folder has programs for development, but none that add files to the layer."""


def _sources(name: str) -> Iterator[Path]:
    locks = map(lock_of, (name, *BENEATH.get(name, ())))
    yield from (lock for lock in locks if lock.is_file())
    yield from _builders(name)
    if name in OWN:
        yield from _files(OWN[name])


def _builders(name: str) -> list[Path]:
    """Return the programs that add files to a layer which no package index has. Each program gets
    the folder of the packages.
    """
    return [] if name in TOOLS else sorted((paths.LAYERS / name).glob("*.py"))


def lock_of(name: str) -> Path:
    return paths.LAYERS / name / "requirements.txt"


def hash_of(name: str, wheels: Wheels) -> str:
    has_bytecode = pythons.of_version(wheels.python) is not None
    digest = hashlib.sha256(f"{RULES} {wheels.tag} {has_bytecode} {sorted(SERVICES)}".encode())
    for source in _sources(name):
        digest.update((source.name.encode() if name in OWN else b"") + source.read_bytes())
    return digest.hexdigest()


def _make(name: str, wheels: Wheels, folder: Path) -> None:
    """Build the layer beside its folder and move it there, so that it is either complete or
    missing.
    """
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    packages = unfinished / "python"
    packages.mkdir(parents=True)
    wanted = unfinished / "requirements.txt"
    wanted.write_text("".join(_wanted(name)))
    if wanted.stat().st_size:
        _install(wanted, wheels, packages)
    wanted.unlink()
    for builder in _builders(name):
        subprocess.run([sys.executable, builder, packages], check=True)
    if name in OWN:
        _copy(OWN[name], packages)
    _drop_unused(packages)
    _compile(packages, wheels)
    unfinished.replace(folder)


def _wanted(name: str) -> list[str]:
    """Return the locked requirements with their hashes, without those of the layers beneath."""
    beneath = {
        line.split(" ")[0] for layer in BENEATH.get(name, ()) for line in _requirements(layer)
    }
    return [line for line in _requirements(name) if line.split(" ")[0] not in beneath]


def _requirements(name: str) -> list[str]:
    if not lock_of(name).is_file():
        return []
    logical_lines = lock_of(name).read_text().replace("\\\n", " ").splitlines(keepends=True)
    return [line for line in logical_lines if line.strip() and not line.startswith("#")]


def _install(requirements: Path, wheels: Wheels, packages: Path) -> None:
    place = (
        ["--python-platform", wheels.platform]
        if wheels.platform
        else ["--python", pythons.function_python()]
    )
    options = [
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--python-version",
        wheels.python,
    ]
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--target",
        packages,
        *options,
        *place,
        "-r",
        requirements,
    ]
    subprocess.run(command, check=True)


def _compile(packages: Path, wheels: Wheels) -> None:
    """Put the bytecode beside the sources. Lambda's code is read-only, so without bytecode each
    cold start would compile anew.

    Bytecode is for one version of Python. If this machine has no interpreter of that version, none
    is made. The bytecode is never checked against its source, because a layer does not change.
    """
    python = pythons.of_version(wheels.python)
    if python is not None:
        command = [
            python,
            "-m",
            "compileall",
            "-qq",
            "-j0",
            "--invalidation-mode",
            "unchecked-hash",
            str(packages),
        ]
        subprocess.run(command, check=False)  # a package may hold templates that are no Python


def _compile_dataclasses(library: Path, packages: Path) -> None:
    """Put the code of all dataclasses that the library loads beside its bytecode.

    `packages` are those of this machine, because the code that `dataclass` writes is the same for
    every processor.
    """
    folder = library / "palimpsest" / "wiring"
    command: list[str | Path] = [pythons.function_python(), "-S", "-B", DATACLASS_CODE, folder]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (library, packages)))}
    subprocess.run(command, env=environment, check=True)


def _drop_unused(packages: Path) -> None:
    for pattern in UNUSED:
        for path in list(packages.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for data in (packages / "botocore" / "data", packages / "boto3" / "data"):
        for service in data.glob("*/"):
            if service.name not in SERVICES:
                shutil.rmtree(service)
    _shorten(packages / "botocore" / "data")
    for package in LATE:
        for opening in packages.glob(f"{package}/__init__.py"):
            _load_late(opening)


def _load_late(opening: Path) -> None:
    """Let a package import each name when it is first used, if its `__init__.py` only imports names
    from modules.
    """
    _, *imports, _ = ast.parse(opening.read_text()).body  # between its docstring and `__all__`
    modules: dict[str, str] = {}
    for imported in imports:
        if not isinstance(imported, ast.ImportFrom):
            raise TypeError(f"{opening} has a statement that does not import names from a module")
        modules |= {
            name.name: "." * imported.level + (imported.module or "") for name in imported.names
        }
    opening.unlink()  # it is a link to the installer's cache
    opening.write_text(LATE_CODE.format(modules=modules, names=sorted(modules)))


def _shorten(data: Path) -> None:
    """Remove the parts of the SDK's data that no call needs and that each new process would parse:
    the services' documentation, and the addresses of unused services.
    """
    for packed in list(data.rglob("service-2.json.gz")):
        model = json.loads(gzip.decompress(packed.read_bytes()), object_hook=_without_documentation)
        for parameter in model.get("clientContextParams", {}).values():
            parameter["documentation"] = ""  # botocore reads it with each call
        packed.with_suffix("").write_text(json.dumps(model))
        packed.unlink()
    for endpoints in data.glob("endpoints.json"):
        places = json.loads(endpoints.read_text())
        for partition in places["partitions"]:
            services = partition["services"].items()
            partition["services"] = {
                name: service for name, service in services if name in SERVICES
            }
        # it is a link to the installer's cache: whoever writes into it writes for every environment
        endpoints.unlink()
        endpoints.write_text(json.dumps(places))


def _without_documentation(shape: dict[str, Any]) -> dict[str, Any]:
    """Return a shape without its documentation. A field with this name that is not a text stays."""
    return {
        name: value
        for name, value in shape.items()
        if name != "documentation" or not isinstance(value, str)
    }
