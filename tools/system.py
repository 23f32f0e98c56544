"""Programs of the system that some tests use, installed where that can be done quietly.

    python -m tools.system

A Chromium for the tests of the page, strace for those that kill a process at a system call, Java
for those of Spark. Never fails: without them those tests are skipped, with the reason.
"""

import os
import shutil
import subprocess

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 240  # for each command


def find_browser() -> str | None:
    """The path of a browser; the environment variable CHROMIUM goes first."""
    given = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ([given] if given else BROWSERS))
    return next((path for path in found if path), None)


def missing() -> list[str]:
    """Debian's packages for what is not here."""
    here = {"chromium": find_browser(), "strace": shutil.which("strace")}
    here["openjdk-17-jre-headless"] = shutil.which("java")
    return [name for name, path in here.items() if path is None]


def install(packages: list[str]) -> str:
    """Try to install them; what came of it, in words."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"not here: {', '.join(packages)}; tests that need them are skipped"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=60"]
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        try:
            done = subprocess.run(
                [*quiet, *command],
                env=environment,
                timeout=SECONDS,
                capture_output=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"apt-get {command[0]} took more than {SECONDS} seconds; tests are skipped"
        if done.returncode and command[0] == "install":
            return f"apt-get ended with {done.returncode}; tests are skipped"
    return f"installed {', '.join(packages)}"


def main() -> None:
    """Say what is here, or why it is not."""
    packages = missing()
    print(install(packages) if packages else "all programs for tests are here")


if __name__ == "__main__":
    main()
