"""The unpacked sizes of layers and functions. Lambda accepts 250 MB for a function with all its
layers.
"""

from pathlib import Path

from benchmarks.report import Cell, Table
from infra import layer_build, paths

LIMIT = 250  # MB (Lambda)
MEGABYTE = 1024 * 1024
LAYERS = {
    "runtime": "every function",
    "models": "functions that call a model",
    "builtin": "functions that run one",
    "graph": "the function that queries graphs",
}
LARGEST = 3


def table() -> Table:
    rows = [_layer(name, layer_build.ON_AWS) for name in LAYERS if _is_locked(name)]
    rows += [_layer(name, layer_build.on_this_machine()) for name in LAYERS if _is_locked(name)]
    rows.append(["layer core", _kilobytes(paths.LAYERS / "core" / "python"), "every function"])
    rows += [
        _function(folder)
        for folder in sorted(paths.FUNCTIONS.iterdir())
        if (folder / "handler.py").is_file()
    ]
    sizes = f"{whole():.0f} MB on AWS, and {whole(traces=True):.0f} MB with traces"
    notes = (f"A function with all layers has {sizes}; Lambda takes {LIMIT}.",)
    return Table("Sizes, unzipped", ["part", "KB", "the largest in it, or who has it"], rows, notes)


def whole(*, traces: bool = False) -> float:
    """Return the size of all layers with their bytecode, in the megabytes of Lambda's limit. With
    `traces`, the library for them is included.
    """
    names = [name for name in (*LAYERS, *(["traces"] if traces else [])) if _is_locked(name)]
    built = [layer_build.build(name, layer_build.ON_AWS) for name in names]
    built.append(layer_build.build_core(layer_build.ON_AWS))
    files = [file for layer in built for file in layer.folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / MEGABYTE


def _layer(name: str, wheels: layer_build.Wheels) -> list[Cell]:
    folder = layer_build.build(name, wheels).folder / "python"
    parts = sorted(((_kilobytes(part), part.name) for part in folder.iterdir()), reverse=True)[
        :LARGEST
    ]
    largest = ", ".join(f"{part} {size:,.0f}" for size, part in parts)
    return [f"layer {name} for {wheels.tag}", _kilobytes(folder), largest]


def _is_locked(name: str) -> bool:
    return (paths.LAYERS / name / "requirements.txt").is_file()


def _function(folder: Path) -> list[Cell]:
    return [f"function {folder.name}", _kilobytes(folder), "its handler"]


def _kilobytes(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files if "__pycache__" not in file.parts) / 1e3
