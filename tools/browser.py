"""Find a Chromium for the tests of the page, or install one where that can be done quietly.

    python -m tools.browser

Never fails: without a browser those tests are skipped, with the reason.
"""

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 240  # for each of the two commands


def find_browser() -> str | None:
    """The path of a browser; the environment variable CHROMIUM goes first."""
    given = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ([given] if given else NAMES))
    return next((path for path in found if path), None)


def install_browser() -> str:
    """Try to install Debian's package; what came of it, in words."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "no browser: install chromium, or set CHROMIUM to the path of one"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=60"]
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        try:
            done = subprocess.run(
                [*quiet, *command],
                env=environment,
                timeout=SECONDS,
                capture_output=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no browser: apt-get {command[0]} took more than {SECONDS} seconds"
        if done.returncode and command[0] == "install":
            return f"no browser: apt-get ended with {done.returncode}"
    return find_browser() or "no browser: the package brought none"


def main() -> None:
    """Say where the browser is, or why there is none."""
    print(find_browser() or install_browser())


if __name__ == "__main__":
    main()
