"""OpenSearch with k-NN on the Lucene engine, a real server from Maven Central's jars, on loopback.

    python -m infra.opensearch     # sets it up; whoever needs it does so too

It needs a JDK (17 or newer) and Maven. The jars are those that opensearch.sha256 lists, whatever Maven resolves. The
jars on Central lack the descriptor and the policy that the distribution's modules have, so both are written here; they
also lack the native k-NN libraries, so a vector field on another engine than Lucene ends the server.
"""

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from infra import paths
from infra.processes import HOST, CannotRun, end, free_port, has_ended

VERSION = "2.19.1"
HERE = Path(__file__).parent
POM = HERE / "opensearch.pom.xml"
SUMS = HERE / "opensearch.sha256"
LIB = paths.BUILD / "engines" / "opensearch"
INSTALLED = LIB / SUMS.name
NOBODY = 65534  # OpenSearch refuses to run as root
HEAP = "512m"
PLUGIN = f"opensearch-knn-{VERSION}.0.zip"
START_SECONDS = 90
STOP_SECONDS = 20

# A module: its class, how its jars' names begin, what it extends.
MODULES = {
    "transport-netty4": ("org.opensearch.transport.Netty4Plugin", ("transport-netty4-client-", "netty-"), ""),
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
    "mapper-extras": ("org.opensearch.index.mapper.MapperExtrasPlugin", ("mapper-extras-client-",), ""),
    "reindex": (
        "org.opensearch.index.reindex.ReindexPlugin",
        (
            "reindex-client-", "opensearch-rest-client-", "opensearch-ssl-config-", "httpclient-", "httpcore-",
            "httpasyncclient-", "commons-logging-", "commons-codec-",
        ),
        "",
    ),
}  # fmt: skip
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
LOGGING = """status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""
SETTINGS = """cluster.name: palimpsest
node.name: one
network.host: {host}
http.port: {port}
transport.port: {transport_port}
discovery.type: single-node
cluster.routing.allocation.disk.threshold_enabled: false
"""


@dataclass(frozen=True, slots=True)
class Server:
    """One that runs in `home`, which holds its data too."""

    pid: int
    port: int
    home: Path

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def missing() -> str | None:
    """Why it cannot run here; None where it can, once `install` has been called."""
    tools = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"OpenSearch needs a JDK and Maven; not found: {', '.join(tools)}" if tools else None


def install() -> None:
    """Fetch the jars and check them; does nothing where they are already. Raises `CannotRun`."""
    if reason := missing():
        raise CannotRun(reason)
    with paths.building():
        if not (INSTALLED.is_file() and INSTALLED.read_bytes() == SUMS.read_bytes()):
            print(f"Fetching OpenSearch {VERSION}", file=sys.stderr, flush=True)
            _fetch()


def _fetch() -> None:
    shutil.rmtree(LIB, ignore_errors=True)
    LIB.mkdir(parents=True)
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={LIB}", "-DincludeScope=runtime")
    maven = subprocess.run(["mvn", "-q", "-B", "-f", POM, *goal], timeout=600, check=False, capture_output=True)
    if maven.returncode != 0:
        raise CannotRun(f"Maven could not fetch OpenSearch: {maven.stdout.decode()[-500:]}")
    for line in SUMS.read_text().splitlines():
        digest, name = line.split()
        if not (LIB / name).is_file() or hashlib.sha256((LIB / name).read_bytes()).hexdigest() != digest:
            raise CannotRun(f"{name} is not the file that {SUMS.name} lists")
    shutil.copy(SUMS, INSTALLED)


def start(home: Path, *, port: int) -> Server:
    """Start it and return at once; `wait` says when it answers. What `home` holds of an earlier one is kept."""
    _lay_out(home, SETTINGS.format(host=HOST, port=port, transport_port=free_port()))
    is_root = os.geteuid() == 0
    if is_root:
        _hand_over(home)
    with (home / "logs" / "console").open("wb") as log:
        process = subprocess.Popen(
            _command(home), cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            user=NOBODY if is_root else None, group=NOBODY if is_root else None, extra_groups=() if is_root else None,
        )  # fmt: skip
    return Server(process.pid, port, home)


def wait(server: Server) -> None:
    """Return once it answers, after some 15 s; raises `CannotRun` if it ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and not has_ended(server.pid):
        if answers(server.port):
            return
        time.sleep(0.2)
    words = (server.home / "logs" / "console").read_text()[-1000:]
    raise CannotRun(f"OpenSearch did not start; its last words: {words}")


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=6)
    try:
        connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=5s")
        answer = connection.getresponse()
        return answer.status == HTTPStatus.OK and json.loads(answer.read())["cluster_name"] == "palimpsest"
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return False
    finally:
        connection.close()


def stop(server: Server) -> None:
    if not end(server.pid, seconds=STOP_SECONDS):
        raise CannotRun(f"OpenSearch (process {server.pid}) does not end")


def _command(home: Path) -> tuple[str, ...]:
    return (
        "java", f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError", "-Djava.security.manager=allow", f"-Djava.io.tmpdir={home / 'tmp'}",
        f"-Djna.tmpdir={home / 'tmp'}", "-Djna.nosys=true", "-Dlog4j2.disable.jmx=true",
        "-Dlog4j.shutdownHookEnabled=false", "-Djava.locale.providers=SPI,COMPAT",
        f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={home / 'config'}",
        "-Dopensearch.distribution.type=tar", "-cp", str(home / "lib" / "*"),
        "org.opensearch.bootstrap.OpenSearch",
    )  # fmt: skip


def _lay_out(home: Path, settings: str) -> None:
    """The folders of a distribution: lib, modules, plugins, config; made anew, but for the data."""
    for name in ("lib", "modules", "plugins", "config", "tmp", "logs"):
        shutil.rmtree(home / name, ignore_errors=True)
    jars = sorted(LIB.glob("*.jar"))
    in_modules: set[Path] = set()
    for name, (plugin, prefixes, extends) in MODULES.items():
        own = [jar for jar in jars if jar.name.startswith(prefixes)]
        in_modules.update(own)
        folder = _filled(home / "modules" / name, own)
        descriptor = DESCRIPTOR.format(name=name, plugin=plugin, extends=extends, version=VERSION)
        (folder / "plugin-descriptor.properties").write_text(descriptor)
        (folder / "plugin-security.policy").write_text(POLICY)
    _filled(home / "lib", [jar for jar in jars if jar not in in_modules])
    with zipfile.ZipFile(LIB / PLUGIN) as archive:
        archive.extractall(home / "plugins" / "opensearch-knn")
    for name in ("config", "data", "logs", "tmp"):
        (home / name).mkdir(exist_ok=True)
    (home / "config" / "log4j2.properties").write_text(LOGGING)
    (home / "config" / "opensearch.yml").write_text(settings)


def _filled(folder: Path, jars: list[Path]) -> Path:
    folder.mkdir(parents=True)
    for jar in jars:
        shutil.copyfile(jar, folder / jar.name)
    return folder


def _hand_over(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


if __name__ == "__main__":
    try:
        install()
    except CannotRun as error:
        raise SystemExit(str(error)) from error
