# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Code and memory on a Cortex-M7: within the limits, without warnings, and as FIGURES say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from firmware import FIGURES

PACKAGE = Path(__file__).resolve().parents[1]
MAX_TEXT = 29_450
MAX_PUBLISHER = 15_850  # of a program that only publishes, with what it takes of the C library
# Linked only by programs that use them; the last by agents.
OPTIONAL = ("client_timeout.c", "parameters.c", "rosout.c", "trace_read.c", "xrce_any.c")
OPTIONAL += ("action.c", "action_owed.c", "action_server.c", "action_client.c")
FLAGS = ["-std=c11", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-Os"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
# A row of the table in FIGURES, and the structures whose sizes stand in it.
ROWS = {
    "daemon, session, executor": ("daemon", "session", "executor"),
    "a message to send": ("node",),
    "a frame to take": ("slot",),
    "timer, guard condition": ("timer", "guard"),
    "publisher, subscription": ("publisher", "subscription"),
    "service, client": ("service", "client"),
    "action server, each goal of it": ("action_server", "goal"),
    "action client, each goal of it": ("action_client", "client_goal"),
    "budget": ("budget",),
}

pytestmark = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None,
    reason="no arm-none-eabi-gcc: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
)


def _compile(source: Path, target: Path, flags: list[str] | None = None) -> None:
    command = ["arm-none-eabi-gcc", *(flags or FLAGS), *WARNINGS, f"-I{PACKAGE / 'include'}"]
    command += [f"-I{PACKAGE / 'src'}", "-c", str(source), "-o", str(target)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr


def test_the_library_is_small_and_has_no_static_memory(tmp_path: Path) -> None:
    objects = []
    for source in sorted((PACKAGE / "src").glob("*.c")):
        if source.name in OPTIONAL:
            continue
        objects.append(tmp_path / (source.stem + ".o"))
        _compile(source, objects[-1])
    text, data, bss = _sizes(*objects)
    assert text < MAX_TEXT
    assert (data, bss) == (0, 0)


def _sizes(*objects: Path) -> tuple[int, int, int]:
    """Return code, initialised and other memory of files together."""
    table = subprocess.run(
        ["arm-none-eabi-size", "-t", *map(str, objects)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    print(table)
    text, data, bss = map(int, table.splitlines()[-1].split()[:3])
    return text, data, bss


PUBLISHES = "rclrt_publisher_init(&a, client->node, &rclrt_type_int32, text, qos, 1);"
PUBLISHES += "rclrt_publish(&a, &number);"
SUBSCRIBES = "rclrt_subscription_init(&b, client->node, &rclrt_type_int32, text, qos);"
SUBSCRIBES += (
    "rclrt_executor_add_subscription(client->executor, &b, &number, run, 0, 1, RCLRT_ON_NEW_DATA);"
)
SERVES = (
    "rclrt_service_init(&c, client->node, &rclrt_type_int32, &rclrt_type_int32, text);"
    "rclrt_executor_add_service(client->executor, &c, &number, &number, serve, 0, 1);"
)
ASKS = (
    "rclrt_client_init(&d, client->node, &rclrt_type_int32, &rclrt_type_int32, text, 1);"
    "rclrt_executor_add_client(client->executor, &d, &number, answered, 0, 1);"
    "rclrt_client_request(&d, &number, 0);"
)
PARAMETERS = "rclrt_parameters_init(&e, client->node, client->executor, &f, 1, 1);"
ROSOUT = "rclrt_rosout_init(&g, client->node, 1); RCLRT_LOG(&g, WARN, text);"
NAMES = 'static const struct rclrt_action_names n = RCLRT_ACTION_NAMES("t");'
EXECUTES = (
    "const struct rclrt_action_server_config i = {&o, 1, 1, 0, on_goal, 0, 0};"
    "rclrt_action_server_init(&j, client->node, client->executor, &action, &n, &i);"
    "rclrt_goal_feedback(&o, &number); rclrt_goal_finish(&o, RCLRT_GOAL_SUCCEEDED);"
)
HAS_EXECUTED = (
    "const struct rclrt_action_client_config k = {.feedback = &number, .result = &number};"
    "rclrt_action_client_init(&l, client->node, client->executor, &action, &n, &k);"
    "rclrt_action_send_goal(&l, &m, &number); rclrt_action_cancel_goal(&m);"
)
TIMES = "rclrt_executor_add_timer(client->executor, &h, RCLRT_MS(100), 1, tick, 0);"
# A row of the table in FIGURES, and what such a program calls.
PROGRAMS = {
    "publishes": PUBLISHES,
    "publishes when a timer expires": PUBLISHES + TIMES,
    "subscribes": SUBSCRIBES,
    "publishes and subscribes": PUBLISHES + SUBSCRIBES,
    "the same, with a service": PUBLISHES + SUBSCRIBES + SERVES,
    "the same, with a client": PUBLISHES + SUBSCRIBES + SERVES + ASKS,
    "the same, with parameters": PUBLISHES + SUBSCRIBES + SERVES + ASKS + PARAMETERS,
    "the same, with /rosout": PUBLISHES + SUBSCRIBES + SERVES + ASKS + PARAMETERS + ROSOUT,
    "executes goals of an action": NAMES + EXECUTES,
    "has goals executed": NAMES + HAS_EXECUTED,
    "both": NAMES + EXECUTES + HAS_EXECUTED,
}
PROGRAM = """
#include "rclrt_micro/action.h"
#include "rclrt_micro/parameters.h"
#include "rclrt_micro/system.h"
#include "rclrt_micro/client.h"
RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 8, ring_bytes = 1024, timers = 1);
extern const struct rclrt_port port;
extern const struct rclrt_transport transport;
static struct rclrt_publisher a;
static struct rclrt_subscription b;
static struct rclrt_service c;
static struct rclrt_client d;
static struct rclrt_parameters e;
static struct rclrt_parameter f;
static struct rclrt_rosout g;
static struct rclrt_timer h;
static struct rclrt_action_server j;
static struct rclrt_action_client l;
static struct rclrt_client_goal m;
static int32_t number;
static struct rclrt_goal o = {.server = 0};
static const struct rclrt_action_type action =
  RCLRT_ACTION_TYPE("p", "A", &rclrt_type_int32, &rclrt_type_int32, &rclrt_type_int32);
static enum rclrt_goal_answer on_goal(void * x, struct rclrt_goal * y)
{
  (void)x, (void)y;
  return RCLRT_GOAL_EXECUTE;
}
static const char text[] = "t";
static void tick(void * x, struct rclrt_timer * y) { (void)x, (void)y; }
static void run(void * x, const void * y) { (void)x, (void)y; }
static bool serve(void * x, const void * y, void * z) { (void)x, (void)y, (void)z; return true; }
static void answered(void * x, const void * y, uint16_t z) { (void)x, (void)y, (void)z; }
void start(void);
void start(void)
{
  static const bool never = false;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  rclrt_system_start_serial(client, &port, &transport, 1, text, RCLRT_S(10));
  %s
  rclrt_executor_spin(client->executor, &never);
}
"""


def test_the_figures_give_the_size_of_programs_by_what_they_use(tmp_path: Path) -> None:
    split = [*FLAGS, "-ffunction-sections", "-fdata-sections"]
    objects = []
    for source in sorted((PACKAGE / "src").glob("*.c")):
        objects.append(tmp_path / (source.stem + ".o"))
        _compile(source, objects[-1], split)
    wrong = {}
    for row, calls in PROGRAMS.items():
        source, program, linked = (tmp_path / f"program.{end}" for end in ("c", "o", "elf"))
        source.write_text(PROGRAM % calls, encoding="utf-8")
        _compile(source, program, [*split, "-Wno-unused", "-Wno-missing-prototypes"])
        command = ["arm-none-eabi-gcc", *FLAGS, "-nostartfiles", "--specs=nano.specs"]
        command += ["--specs=nosys.specs", "-Wl,--gc-sections,-e,start"]
        command += ["-Wl,--unresolved-symbols=ignore-all", str(program), *map(str, objects)]
        subprocess.run([*command, "-o", str(linked)], check=True, timeout=60)
        text, data, bss = _sizes(linked)
        assert data == 0  # What is constant is in flash, and all else is zero before the start.
        assert row != "publishes" or text < MAX_PUBLISHER
        match = re.search(rf"^\| {re.escape(row)} \| ([\d.]+) \| ([\d.]+) \|", FIGURES, re.M)
        assert match is not None, row
        if abs(text - float(match[1]) * 1000) > 0.04 * text:  # Other versions of gcc differ.
            wrong[row] = f"{text / 1000:.1f}"
        if abs(bss - float(match[2]) * 1000) > 60:  # Rounded to 100, and what a linker adds.
            wrong[row + ", RAM"] = f"{bss / 1000:.1f}"
    assert wrong == {}


def test_the_library_calls_nothing_but_memory_and_string_functions(tmp_path: Path) -> None:
    defined: set[str] = set()
    undefined: set[str] = set()
    for source in (PACKAGE / "src").glob("*.c"):
        target = tmp_path / (source.stem + ".o")
        _compile(source, target)
        symbols = subprocess.run(
            ["arm-none-eabi-nm", str(target)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for line in symbols.splitlines():
            kind, name = line.split()[-2:]
            (undefined if kind == "U" else defined).add(name)
    allowed = {"memcpy", "memset", "memcmp", "strlen"}
    compiler = {name for name in undefined if name.startswith("__aeabi_")}  # 64-bit division
    assert undefined - defined - compiler <= allowed


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33"])
def test_the_port_without_an_operating_system_is_for_other_cores_too(
    core: str, tmp_path: Path
) -> None:
    source = PACKAGE / "ports" / "baremetal" / "cortex_m.c"
    _compile(source, tmp_path / "port.o", ["-std=gnu11", f"-mcpu={core}", "-mthumb", "-Os"])


def test_the_figures_give_the_sizes_of_the_structures(tmp_path: Path) -> None:
    names = [name for row in ROWS.values() for name in row]
    source = tmp_path / "sizes.c"
    lines = ['#include "rclrt_micro/action.h"', '#include "rclrt_micro/system.h"']
    lines += [f"char size_of_{name}[sizeof(struct rclrt_{name})];" for name in names]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = tmp_path / "sizes.o"
    _compile(source, target)
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "-S", str(target)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    sizes = {
        match[2]: int(match[1], 16)
        for match in re.finditer(r"^\w+ (\w+) \w size_of_(\w+)$", symbols, re.MULTILINE)
    }
    for row, members in ROWS.items():
        match = re.search(rf"^\| {re.escape(row)} \| ([\d, ]+)", FIGURES, re.MULTILINE)
        assert match is not None, row
        said = [int(number) for number in re.findall(r"\d+", match[1])]
        assert said == [sizes[name] for name in members], row
