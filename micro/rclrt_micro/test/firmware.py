# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the firmware, runs it in QEMU, and talks to it through the agent of the tests."""

import fcntl
import os
import queue
import shutil
import subprocess
import threading
import time
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# What is said of code, memory and instructions.
FIGURES = (PACKAGE.parents[1] / "docs" / "measurements" / "2026-11-28-micro.md").read_text(
    encoding="utf-8"
)
FLAGS = ["-std=gnu11", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-Os"]
FLAGS += ["-g1", "-ffunction-sections", "-fdata-sections"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
LINK = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections"]
PATIENCE_S = 60.0  # Only a program that has come to a halt takes so long.


def missing() -> str:
    """Return what is not installed that firmware needs, and how to install it; or nothing."""
    packages = {
        "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
        "qemu-system-arm": "qemu-system-arm",
    }
    lacking = [name for program, name in packages.items() if shutil.which(program) is None]
    return f"apt-get install {' '.join(lacking)}" if lacking else ""


def freertos_kernel(folder: Path) -> Path | str:
    """Return the folder of FreeRTOS' kernel, taken from the Rust registry; or why there is none."""
    if shutil.which("cargo") is None:
        return "no cargo, which brings FreeRTOS' kernel: apt-get install cargo"
    vendored = folder / "vendor"
    if not vendored.exists():
        folder.mkdir(parents=True, exist_ok=True)
        manifest = PACKAGE / "firmware" / "freertos_kernel" / "Cargo.toml"
        shutil.copy(manifest, folder)
        (folder.parent / "mps2.c").touch()  # what the manifest says is built; it is not
        result = subprocess.run(
            ["cargo", "vendor", "--quiet", "vendor.new"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if result.returncode != 0:
            return f"the Rust registry does not give FreeRTOS' kernel: {result.stderr.strip()}"
        (folder / "vendor.new").rename(vendored)
    return vendored / "freertos-next" / "FreeRTOS-Kernel"


def build(image: Path, sources: list[str], *options: str, kernel: Path | None = None) -> Path:
    """Compile the library, the board and `sources` (paths in the package), and link them."""
    image.parent.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{PACKAGE / folder}" for folder in ("include", "src", "firmware")]
    ours = [*sorted((PACKAGE / "src").glob("*.c")), PACKAGE / "firmware" / "mps2.c"]
    ours += [PACKAGE / source for source in sources]
    theirs: list[Path] = []
    if kernel is not None:
        port = kernel / "portable" / "GCC" / "ARM_CM7" / "r0p1"
        includes += ["-isystem", str(kernel / "include"), "-isystem", str(port)]
        theirs = [kernel / name for name in ("tasks.c", "list.c", "queue.c")] + [port / "port.c"]
    compiler = ["arm-none-eabi-gcc", *FLAGS, *options, *includes]
    running, objects = [], []
    for name, files, warnings in (("ours", ours, WARNINGS), ("theirs", theirs, ["-w"])):
        folder = image.with_suffix("") / name
        folder.mkdir(parents=True, exist_ok=True)
        objects += [folder / f"{path.stem}.o" for path in files]
        if files:
            command = [*compiler, *warnings, "-c", *map(str, files)]
            running.append(subprocess.Popen(command, cwd=folder))
    assert [process.wait(timeout=200) for process in running] == [0] * len(running)
    script = PACKAGE / "firmware" / "mps2.ld"
    command = ["arm-none-eabi-gcc", *FLAGS, *LINK, "-T", str(script)]
    command += [str(path) for path in objects] + ["-o", str(image)]
    subprocess.run(command, check=True, timeout=100)
    return image


def image(port: str) -> Path | str:
    """Return the program of the tests on a port, or that of PoDS; or why there is none."""
    folder = Path(os.environ["RCLRT_BUILD_DIR"]) / "firmware"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Several tests want it.
        if port == "baremetal":
            files = ["ports/baremetal/cortex_m.c", "firmware/main_baremetal.c"]
            return build(folder / "baremetal.elf", ["firmware/program.c", *files])
        kernel = freertos_kernel(folder / "freertos_kernel")
        if isinstance(kernel, str):
            return kernel
        files = {
            "freertos": ["firmware/program.c", "firmware/main_freertos.c"],
            "pods": ["firmware/main_pods.c", "firmware/inner_agent.c"],
        }[port]
        files = ["ports/freertos/freertos.c", *files]
        return build(folder / f"{port}.elf", files, kernel=kernel)


class Peer:
    def __init__(self) -> None:
        programs = Path(os.environ["RCLRT_BUILD_DIR"]).rglob("rclrt_micro_firmware_peer")
        program = next(path for path in sorted(programs) if os.access(path, os.X_OK))
        self.process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.device = self.process.stdout.readline().strip()
        self.messages: queue.Queue[tuple[str, bytes]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            topic, data = line.split()
            self.messages.put((topic, bytes.fromhex(data)))

    def command(self, text: str) -> None:
        """Send a command: see firmware_peer.cpp."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def publish(self, topic: str, number: int) -> None:
        self.command(f"publish rt/{topic} {number}")

    def take(self, count: int = 1, timeout_s: float = PATIENCE_S) -> list[tuple[str, int]]:
        """Return the next messages of the board: their topics, their first four bytes."""
        end = time.monotonic() + timeout_s
        taken: list[tuple[str, int]] = []
        while len(taken) < count:
            try:
                topic, data = self.messages.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            number = int.from_bytes(data[:4], "little", signed=True)
            taken.append((topic.removeprefix("rt/"), number))
        return taken

    def until_answered(self, number: int) -> list[int]:
        """Publish `number` until it comes back; return all that came on /up until then."""
        end = time.monotonic() + PATIENCE_S
        came: list[int] = []
        while number not in came and time.monotonic() < end:
            self.publish("down", number)
            came += [value for topic, value in self.take(1, 0.3) if topic == "up"]
        return came

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=20)


class Board:
    """An emulator that runs an image, its line at a pseudo-terminal."""

    def __init__(self, image: Path, device: str, *options: str) -> None:
        command = ["qemu-system-arm", "-M", "mps2-an500", "-kernel", str(image), "-display", "none"]
        command += ["-monitor", "none", "-semihosting-config", "enable=on,target=native", *options]
        command += ["-chardev", f"serial,id=line,path={device}", "-serial", "chardev:line"]
        self.process = subprocess.Popen(command)

    def kill(self) -> None:
        """As if its supply were cut."""
        self.process.kill()
        self.process.wait(timeout=20)
