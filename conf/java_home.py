"""Print the home of a Java runtime that Spark can use; install one if there is none.

    JAVA_HOME=$(.venv/bin/python conf/java_home.py)

It looks at $JAVA_HOME, `java` on the PATH, the folders where packages install Java, and `.jdk/` in
this checkout. If none of them works, it tries the package of the distribution (as root, or by sudo
if that asks for no password), then a download into `.jdk/` by install-jdk. If all of this fails, a
message says which command to run. stdout has the path only, all messages go to stderr.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

OLDEST = 17
DOWNLOADS = Path(__file__).resolve().parent.parent / ".jdk"
INSTALLED = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines", "/opt/homebrew/opt")
LAYOUTS = ("*/bin/java", "*/Contents/Home/bin/java")

# Spark 4 starts Java with this module. Old or reduced runtimes do not have it.
PROBE = ("--add-modules=jdk.incubator.vector", "-XshowSettings:properties", "-version")

PACKAGES = {
    "apt-get": ("openjdk-17-jre-headless", "openjdk-21-jre-headless"),
    "dnf": ("java-17-openjdk-headless", "java-21-openjdk-headless"),
}


def main() -> int:
    for prepare in (None, install_package, download):
        if (prepare is None or prepare()) and (home := find()):
            print(home)
            return 0
    say(f"no Java runtime >= {OLDEST} was found or could be installed. Run\n\n    {advice()}\n")
    return 1


def find() -> Path | None:
    return next(filter(None, map(home_of, candidates())), None)


def candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)
    for folder in (*INSTALLED, DOWNLOADS):
        for layout in LAYOUTS:
            yield from sorted(Path(folder).glob(layout))


def home_of(java: Path) -> Path | None:
    """The home of this `java`, or None if Spark cannot use it."""
    try:
        probe = subprocess.run([java, *PROBE], capture_output=True, text=True)
    except OSError:
        return None
    settings = dict(re.findall(r"^ *(java\.\S+) = (.+)$", probe.stderr, re.MULTILINE))
    if probe.returncode or int(settings["java.specification.version"].split(".")[0]) < OLDEST:
        say(f"{java} cannot be used: Spark needs Java >= {OLDEST} with jdk.incubator.vector")
        return None
    return Path(settings["java.home"])


def install_package(packages: Mapping[str, Sequence[str]] = PACKAGES) -> bool:
    """By the package manager that is here: the first of these packages that it has."""
    manager = package_manager()
    become_root = root_prefix()
    if manager is None or become_root is None:
        return False
    if manager == "apt-get":
        run(*become_root, manager, "update", "--quiet")
    return any(run(*become_root, manager, "install", "-y", name) for name in packages[manager])


def package_manager() -> str | None:
    return next(filter(shutil.which, PACKAGES), None)


def root_prefix() -> tuple[str, ...] | None:
    """What to put before a command that root must run; None if we cannot become root."""
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") and run("sudo", "-n", "true"):
        return ("sudo", "-n")
    return None


def download() -> bool:
    get_tool = (sys.executable, "-m", "pip", "install", "install-jdk")
    get_java = f"import jdk; jdk.install('{OLDEST}', path={str(DOWNLOADS)!r})"
    quiet = "import sys; sys.tracebacklimit = 0"
    return run(*get_tool) and run(sys.executable, "-c", f"{quiet}; {get_java}")


def advice() -> str:
    manager = package_manager()
    if manager:
        return f"sudo {manager} install {PACKAGES[manager][0]}"
    if sys.platform == "darwin":
        return f"brew install openjdk@{OLDEST}"
    return "export JAVA_HOME=/path/to/a/java/runtime    # from https://adoptium.net"


def run(*command: str) -> bool:
    """Run a command without input, its output on stderr; whether it succeeded."""
    say("running " + " ".join(command))
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0


def say(message: str) -> None:
    print(f"{Path(sys.argv[0]).stem}: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
