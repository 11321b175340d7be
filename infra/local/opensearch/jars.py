"""Fetches the jars of OpenSearch, checks them, and lays them out as the distribution has them.

python -m infra.local.opensearch.jars     # fetches them, as every start of a server does

It needs a JDK (17 or newer) and Maven. The jars must be the ones in jars.sha256, whatever Maven
resolves. The jars on Maven Central lack the descriptor and the policy that the modules of the
distribution have, so both are written here. They also lack the native k-NN libraries, so a vector
field on another engine than Lucene ends the server. A plugin of ours, compiled here, is the guard
before its routes.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from infra import paths
from infra.local.processes import CannotRun

VERSION = "2.19.1"
HERE = Path(__file__).parent
POM = HERE / "pom.xml"
SUMS = HERE / "jars.sha256"
LIB = paths.BUILD / "engines" / "opensearch"
INSTALLED = LIB / SUMS.name
PLUGIN = f"opensearch-knn-{VERSION}.0.zip"
GUARD = HERE / "Guard.java"

# A module: its class, how its jars' names begin, what it extends.
MODULES = {
    "transport-netty4": (
        "org.opensearch.transport.Netty4Plugin",
        ("transport-netty4-client-", "netty-"),
        "",
    ),
    "lang-painless": (
        "org.opensearch.painless.PainlessPlugin",
        ("lang-painless-", "opensearch-scripting-painless-spi-", "asm-", "antlr4-runtime-"),
        "",
    ),
    "analysis-common": (
        "org.opensearch.analysis.common.CommonAnalysisPlugin",
        ("analysis-common-",),
        "lang-painless",
    ),
    "mapper-extras": (
        "org.opensearch.index.mapper.MapperExtrasPlugin",
        ("mapper-extras-client-",),
        "",
    ),
    "reindex": (
        "org.opensearch.index.reindex.ReindexPlugin",
        (
            "reindex-client-",
            "opensearch-rest-client-",
            "opensearch-ssl-config-",
            "httpclient-",
            "httpcore-",
            "httpasyncclient-",
            "commons-logging-",
            "commons-codec-",
        ),
        "",
    ),
}
DESCRIPTOR = """name={name}
description={name}
version={version}
classname={plugin}
opensearch.version={version}
java.version=11
extended.plugins={extends}
has.native.controller=false
"""
POLICY = """grant {
  permission java.net.SocketPermission "*", "accept,connect,listen,resolve";
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
  permission java.util.PropertyPermission "*", "read,write";
};
"""


def missing() -> str | None:
    """Return why OpenSearch can't run on this machine, or None if it can run after `install`."""
    tools = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    return f"OpenSearch needs a JDK and Maven; not found: {', '.join(tools)}" if tools else None


def install() -> None:
    """Fetch the jars and check them, unless they exist already. Raises `CannotRun`."""
    if reason := missing():
        raise CannotRun(reason)
    with paths.building():
        if not (INSTALLED.is_file() and INSTALLED.read_bytes() == SUMS.read_bytes()):
            print(f"Fetching OpenSearch {VERSION}", file=sys.stderr, flush=True)
            _fetch()
        if not _guard().is_file():
            _compile()


def _fetch() -> None:
    shutil.rmtree(LIB, ignore_errors=True)
    LIB.mkdir(parents=True)
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={LIB}", "-DincludeScope=runtime")
    maven = subprocess.run(
        ["mvn", "-q", "-B", "-f", POM, *goal], timeout=600, check=False, capture_output=True
    )
    if maven.returncode != 0:
        raise CannotRun(f"Maven could not fetch OpenSearch: {maven.stdout.decode()[-500:]}")
    for line in SUMS.read_text().splitlines():
        digest, name = line.split()
        if (
            not (LIB / name).is_file()
            or hashlib.sha256((LIB / name).read_bytes()).hexdigest() != digest
        ):
            raise CannotRun(f"{name} is not the file that {SUMS.name} lists")
    shutil.copy(SUMS, INSTALLED)


def _guard() -> Path:
    """Return the jar of the guard. Its name depends on its source."""
    return LIB / "guard" / f"{hashlib.sha256(GUARD.read_bytes()).hexdigest()[:16]}.jar"


def _compile() -> None:
    folder = _guard().with_suffix("")
    java = ["javac", "-Werror", "-cp", f"{LIB}/*", "-d", str(folder), str(GUARD)]
    done = subprocess.run(java, check=False, capture_output=True)
    if done.returncode != 0:
        raise CannotRun(
            f"The guard of OpenSearch could not be compiled: {done.stderr.decode()[-500:]}"
        )
    with zipfile.ZipFile(_guard(), "w") as jar:
        for file in folder.rglob("*.class"):
            jar.write(file, file.relative_to(folder))


def lay_out(home: Path) -> None:
    """Delete the folders lib, modules and plugins, and fill them again from the jars."""
    for name in ("lib", "modules", "plugins"):
        shutil.rmtree(home / name, ignore_errors=True)
    jars = sorted(LIB.glob("*.jar"))
    in_modules: set[Path] = set()
    for name, (plugin, prefixes, extends) in MODULES.items():
        own = [jar for jar in jars if jar.name.startswith(prefixes)]
        in_modules.update(own)
        folder = _filled(home / "modules" / name, own)
        _describe(folder, plugin, extends=extends)
        (folder / "plugin-security.policy").write_text(POLICY)
    _describe(_filled(home / "plugins" / "guard", [_guard()]), "palimpsest.Guard")
    _filled(home / "lib", [jar for jar in jars if jar not in in_modules])
    with zipfile.ZipFile(LIB / PLUGIN) as archive:
        archive.extractall(home / "plugins" / "opensearch-knn")


def _describe(folder: Path, plugin: str, *, extends: str = "") -> None:
    descriptor = DESCRIPTOR.format(
        name=folder.name, plugin=plugin, extends=extends, version=VERSION
    )
    (folder / "plugin-descriptor.properties").write_text(descriptor)


def _filled(folder: Path, jars: list[Path]) -> Path:
    folder.mkdir(parents=True)
    for jar in jars:
        shutil.copyfile(jar, folder / jar.name)
    return folder


if __name__ == "__main__":
    try:
        install()
    except CannotRun as error:
        raise SystemExit(str(error)) from error
