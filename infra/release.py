"""Builds a release: the wheels of library and client, the synthesized assembly, the bill of
materials, the notes, and the checksums of all of them.

python -m infra.release

A release has a section in the changelog and a fixture of the data that it writes, so that the next
one is tested on it. A version that ends in `.devN` is a trial and needs neither.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from infra import dependencies, paths

LIBRARY, CLIENT = paths.PROJECT / "pyproject.toml", paths.LAYERS / "client" / "pyproject.toml"
CHANGELOG = paths.PROJECT / "CHANGELOG.md"
FIXTURES = paths.PROJECT / "tests" / "releases"
RELEASES = paths.BUILD / "releases"
SUMS, BILL, NOTES = "SHA256SUMS", "sbom.cdx.json", "NOTES.md"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all files in the archive, so that the same files make the same archive."""


def version() -> str:
    """Return the version, which library and client share. Raises `SystemExit` if they differ."""
    versions = {tomllib.loads(file.read_text())["project"]["version"] for file in (LIBRARY, CLIENT)}
    if len(versions) != 1:
        raise SystemExit(
            f"Library and client have different versions: {', '.join(sorted(versions))}."
        )
    return str(versions.pop())


def is_trial(release: str) -> bool:
    return ".dev" in release


def notes(release: str, changelog: str) -> str:
    """Return the section of the changelog about the release. Raises `SystemExit` if it has none."""
    title = "Unreleased" if is_trial(release) else rf"{re.escape(release)} - \d{{4}}-\d\d-\d\d"
    match = re.search(rf"^## {title}\n+(.+?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if match is None:
        raise SystemExit(f"CHANGELOG.md has no section `## {release} - <date>` with changes.")
    return match[1].strip() + "\n"


def check(release: str, *, changes: str, fixtures: Path = FIXTURES) -> None:
    """Raise `SystemExit` if a release can't be built from these files. `changes` are the files that
    are not committed.
    """
    if is_trial(release):
        return
    if changes:
        raise SystemExit(f"A release is built from a commit. Not committed:\n{changes}")
    if not (fixtures / release / "items.jsonl").is_file():
        raise SystemExit(
            f"There is no fixture of what {release} writes: run `python -m tests.releases.write`."
        )


def build(folder: Path, release: str) -> None:
    """Build the release in an empty folder."""
    folder.mkdir(parents=True)
    for source in (paths.PROJECT, CLIENT.parent):
        _build_wheel(source, folder)
    (folder / NOTES).write_text(notes(release, CHANGELOG.read_text()))
    (folder / BILL).write_text(dependencies.bill(dependencies.SHIPPED) + "\n")
    assembly = folder / "assembly"
    _synthesize(assembly)
    pack(assembly, folder / f"palimpsest-{release}-assembly.zip")
    (folder / SUMS).write_text(checksums(folder))


def _build_wheel(source: Path, folder: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "build", "--quiet", "--wheel", "--no-build-isolation", "--python"]
    committed = _git("log", "-1", "--format=%ct") or "315532800"  # without git: 1980
    environment = os.environ | {"SOURCE_DATE_EPOCH": committed}
    subprocess.run(
        [*command, sys.executable, "--out-dir", str(folder), str(source)],
        check=True,
        env=environment,
    )
    (folder / ".gitignore").unlink(missing_ok=True)


def _synthesize(folder: Path) -> None:
    """Synthesize the stages that go to AWS, with their assets, so that `cdk deploy --app` takes the
    folder.
    """
    environment = os.environ | {"CDK_OUTDIR": str(folder)}
    subprocess.run(
        [sys.executable, "-m", "infra.app"], check=True, cwd=paths.PROJECT, env=environment
    )


def pack(folder: Path, archive: Path) -> None:
    """Pack the folder, with the same bytes for the same files."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(file.relative_to(folder)), date_time=EPOCH)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.read_bytes(), compress_type=zipfile.ZIP_DEFLATED)


def checksums(folder: Path) -> str:
    """Return a line for each file of the folder, in the form that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    return "".join(f"{_sha256(file)}  {file.name}\n" for file in files)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=paths.PROJECT, check=False, capture_output=True, text=True
    )
    return done.stdout.strip()


def main() -> None:
    release = version()
    check(release, changes=_git("status", "--porcelain", "--untracked-files=no"))
    folder = RELEASES / release
    if folder.exists() and not is_trial(release):
        raise SystemExit(f"{folder} exists. A release is built once; remove it to build it again.")
    shutil.rmtree(folder, ignore_errors=True)
    build(folder, release)
    print(f"The release is in {folder}")
    print((folder / SUMS).read_text(), end="")


if __name__ == "__main__":
    main()
