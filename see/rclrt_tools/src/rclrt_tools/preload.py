# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Running a command with a library of ours preloaded into every process that it starts."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rclrt_tools import places

NOT_FOUND = 127
NOT_RUN = 126
LIBRARY = "librclrt_run.so"
STOCK = "librclrt_stock-*.so"
OUR_NAMES = ("RCLRT_SOURCE_DIR", "RCLRT_BUILD_DIR")


def environment(library: Path, ours: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    """Return the environment of the command: that of the user, the library, and what is for it."""
    found = {name: value for name, value in given.items() if name not in OUR_NAMES}
    found["LD_PRELOAD"] = ":".join(filter(None, (str(library), given.get("LD_PRELOAD"))))
    # A program under the address sanitizer refuses whatever is loaded before that, else.
    options = (given.get("ASAN_OPTIONS"), "verify_asan_link_order=0")
    found["ASAN_OPTIONS"] = ":".join(filter(None, options))
    return found | ours


def installed() -> list[Path]:
    """Return the folders that our libraries are installed in."""
    folders = [prefix / "lib" for prefix in places.prefixes()]
    folders += [path for folder in folders for path in folder.glob("*-linux-gnu")]
    return [folder for folder in folders if (folder / LIBRARY).exists()]


def found(pattern: str = LIBRARY) -> Path | None:
    """Return a library of ours: of an installation that is sourced, else of this build."""
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build")).absolute()
    folders = (*installed(), build / "rclrt_probe", build / "rclrt_rclcpp")
    return next((path for folder in folders for path in sorted(folder.glob(pattern))), None)


def versions() -> tuple[str, ...]:
    """Return the versions of rclcpp, as "29.3", that executors of programs can be changed with."""
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build")).absolute() / "rclrt_rclcpp"
    names = [path.stem for folder in (*installed(), build) for path in folder.glob(STOCK)]
    return tuple(dict.fromkeys(name.partition("-")[2] for name in names))


def run_with(ours: dict[str, str], command: list[str]) -> int:
    """Run the command to its end and return its exit status. Signals are for the command."""
    library = found()
    if not library:
        print("there is no librclrt_run: run ./rclrt build", file=sys.stderr)
        return NOT_RUN
    with tempfile.TemporaryDirectory(prefix="rclrt-") as short:
        if set(" :") & set(str(library)):  # Which LD_PRELOAD would take for two names.
            link = Path(short) / library.name
            link.symlink_to(library)
            library = link
        return _run(command, environment(library, ours, dict(os.environ)))


def _run(command: list[str], variables: dict[str, str]) -> int:
    try:
        child = subprocess.Popen(command, env=variables)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUN
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The terminal has sent it to the command, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    status = child.wait()
    return status if status >= 0 else 128 - status
