"""Assembles Neo4j Community from Maven Central into a cache outside the repository, and starts it from there.

Neo4j is GPLv3: it is a server that tests talk to, and no part of what we ship.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers import processes

VERSION = "5.26.0"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>neo4j-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
    <dependency>
      <groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_OPENED = ("java.nio", "java.io", "sun.nio.ch")
_SETTINGS = """server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=localhost:{port}
server.http.enabled=false
server.https.enabled=false
dbms.usage_report.enabled=false
server.memory.heap.max_size=384m
server.memory.pagecache.size=32m
db.tx_log.preallocate=false
"""
_NO_LOGIN = "dbms.security.auth_enabled=false\n"


def cache():
    return Path(os.environ.get("CTX_TEST_CACHE", Path.home() / ".cache" / "ctx-test")) / f"neo4j-{VERSION}"


def assemble():
    """Return the folder of jars, fetching it once; some seconds, 130 MB."""
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            (folder / "pom.xml").write_text(_POM)
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
            subprocess.run(["mvn", "-q", "-B", *goal], cwd=folder, check=True, timeout=600)
            (folder / "complete").touch()
    return folder / "lib"


def neo4j_server(*, settings=_NO_LOGIN, password=None):
    """Return a server that is not started yet; with a password, logging in is required."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            processes.unavailable(f"{tool} is not installed; or set CTX_TEST_NEO4J_URL to any Neo4j 5")
    try:
        jars = assemble()
    except (OSError, subprocess.SubprocessError) as error:
        processes.unavailable(f"Neo4j cannot be assembled from Maven Central: {error}")
    folder, port = processes.new_folder("neo4j"), processes.free_port()
    (folder / "conf").mkdir()
    (folder / "conf" / "neo4j.conf").write_text(_SETTINGS.format(port=port) + settings)
    command = _java(jars, "org.neo4j.server.CommunityEntryPoint", f"--home-dir={folder}", f"--config-dir={folder}/conf")
    if password is not None:
        admin = _java(jars, "org.neo4j.server.startup.Neo4jAdminCommand", "dbms", "set-initial-password", password)
        homes = {"NEO4J_HOME": str(folder), "NEO4J_CONF": str(folder / "conf")}
        subprocess.run(admin, env={**os.environ, **homes}, check=True, capture_output=True, timeout=120)
    return processes.Server(name="neo4j", command=command, port=port, folder=folder, seconds=120)


def _java(jars, entry, *arguments):
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options = ["-Dio.netty.tryReflectionSetAccessible=true", "-Dlog4j2.disable.jmx=true", "-Xmx512m"]
    return ["java", *opened, *options, "-cp", f"{jars}/*", entry, *arguments]


if __name__ == "__main__":
    sys.stdout.write(f"{assemble()}\n")
