"""Lists the shipped packages as a bill of materials, and asks PyPI for known weaknesses of the
locked ones.

python -m infra.dependencies sbom|audit

Both commands read only the lock files, because only the packages that these name, with their
hashes, are installed.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import paths

SHIPPED = tuple(
    paths.LAYERS / name / "requirements.txt"
    for name in ("runtime", "models", "builtin", "graph", "tokens", "client")
)
# dev holds what is shipped, too
ALL = tuple(paths.PROJECT / f"requirements-{name}.txt" for name in ("dev", "local"))
BILL = paths.BUILD / "sbom.cdx.json"
PATIENCE = 120  # seconds for one lock file
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)((?:.*\\\n)+.*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    sha256: tuple[str, ...]


def packages(lock: Path) -> Iterator[Package]:
    """Yield the packages in a lock file. A package's hashes are those of its installable files."""
    for name, version, rest in LOCKED.findall(lock.read_text()):
        yield Package(name, version, tuple(re.findall(r"sha256:([0-9a-f]{64})", rest)))


def bill(locks: Sequence[Path]) -> str:
    """Return a CycloneDX 1.6 document, in JSON, of the packages in those lock files."""
    from cyclonedx.model import (
        ExternalReference,
        ExternalReferenceType,
        HashAlgorithm,
        HashType,
        XsUri,
    )
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    locked = {
        (package.name, package.version): package for lock in locks for package in packages(lock)
    }
    bom = Bom()
    bom.metadata.component = Component(name="palimpsest", type=ComponentType.APPLICATION)
    for name, version in sorted(locked):
        hashes = [
            HashType(alg=HashAlgorithm.SHA_256, content=digest)
            for digest in locked[name, version].sha256
        ]
        place = PackageURL("pypi", None, name.lower().replace("_", "-"), version)
        files = ExternalReference(
            type=ExternalReferenceType.DISTRIBUTION, url=XsUri(place.to_string()), hashes=hashes
        )  # fmt: skip
        bom.components.add(
            Component(name=name, version=version, purl=place, external_references=[files])
        )
    bom.register_dependency(bom.metadata.component, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=2)


def audit(locks: Sequence[Path], *, ask: Callable[[Path], list[dict[str, Any]]]) -> str:
    """Return a sentence for the log of the check. Raises `SystemExit`, which lists the weaknesses,
    if any are known. Packages about which the server could not be asked are counted and do not fail
    the check. `ask` returns what is known of the packages in a lock file.
    """
    audited = {package["name"]: package for lock in locks for package in ask(lock)}
    weak = [
        f"{package['name']} {package['version']}: {known['id']}, mended in "
        f"{', '.join(known['fix_versions']) or 'no version'}"
        for package in audited.values()
        for known in package.get("vulns", ())
    ]
    if weak:
        raise SystemExit("\n".join(weak))
    known = {package.name for lock in locks for package in packages(lock)}
    unknown = len(known) - sum("vulns" in package for package in audited.values())
    if not unknown:
        return f"No weakness is known of the {len(known)} packages."
    return (
        f"NOT AUDITED: {unknown} of {len(known)} packages, because the index that was asked says "
        "nothing about them."
    )


def pip_audit(lock: Path) -> list[dict[str, Any]]:
    """Return the findings of pip-audit for each package. Return nothing if it can't reach its
    server.
    """
    options = ["--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json"]
    command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(lock)]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
        dependencies: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return dependencies


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.dependencies")
    parser.add_argument("command", choices=("sbom", "audit"))
    if parser.parse_args(arguments).command == "audit":
        print(audit(ALL, ask=pip_audit))
        return
    BILL.parent.mkdir(exist_ok=True)
    BILL.write_text(bill(SHIPPED) + "\n")
    print(f"The bill of materials of the functions' layers is {BILL}")


if __name__ == "__main__":
    main()
