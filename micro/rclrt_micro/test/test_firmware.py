# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Firmware on a Cortex-M7 in the emulator: with an agent, and the evaluation of PoDS.

Of PoDS time is counted in instructions (-icount), and the agent is inside the firmware: runs are
alike. With RCLRT_MICRO_EVERY_POINT=1 all points of both figures.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from firmware import FIGURES, Board, Peer, image, missing

BURST, SPIN, STATISTICS = 1, 2, 3  # firmware/program.c
STACK_BYTES = {"baremetal": 8192, "freertos": 2048}

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())


class Bench:
    """A board, the agent on its line, and what the board is called."""

    def __init__(self, port: str) -> None:
        self.port = port
        made = image(port)
        if isinstance(made, str):
            pytest.skip(made)
        self.image = made
        self.peer = Peer()
        self.board = Board(self.image, self.peer.device)
        self.next = 1000

    def meet(self) -> None:
        """Wait until the board answers, and for what else is on its way."""
        self.next += 1
        assert self.next in self.peer.until_answered(self.next)
        self.next += 1
        self.peer.publish("down", self.next)
        while ("up", self.next) not in self.peer.take():
            pass

    def statistics(self) -> dict[int, int]:
        """Ask the board: what -> value."""
        self.peer.publish("command", STATISTICS)
        values = [number for topic, number in self.peer.take(5) if topic == "statistics"]
        return {value >> 24: value & 0xFFFFFF for value in values}

    def close(self) -> None:
        self.board.kill()
        self.peer.close()


@pytest.fixture(scope="module", params=["baremetal", "freertos"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Give a board that runs, with one port after the other."""
    made = Bench(request.param)
    try:
        made.meet()
        yield made
    finally:
        made.close()


def test_numbers_go_to_the_board_and_come_back_each_once_and_in_order(bench: Bench) -> None:
    for begin in range(0, 40, 8):  # No more at once than the window of a stream.
        for number in range(begin, begin + 8):
            bench.peer.publish("down", number)
        wanted = [("up", number) for number in range(begin, begin + 8)]
        assert bench.peer.take(8) == wanted


def test_an_urgent_message_overtakes_all_that_wait_but_the_one_on_the_line(bench: Bench) -> None:
    bench.peer.publish("command", BURST)
    came = bench.peer.take(7)
    print(came)
    assert sorted(came) == sorted([("bulk", i) for i in range(6)] + [("urgent_up", 100)])
    assert came.index(("urgent_up", 100)) <= 1
    assert [number for topic, number in came if topic == "bulk"] == list(range(6))


def test_an_urgent_callback_preempts_one_that_takes_the_processor(bench: Bench) -> None:
    bench.peer.publish("command", SPIN)
    assert bench.peer.take() == [("urgent_up", 1)]  # It has begun, and will not end by itself.
    bench.peer.publish("urgent", 7)
    assert bench.peer.take(2) == [("urgent_up", 7), ("up", 2)]


def test_after_an_agent_was_gone_the_board_connects_by_itself(bench: Bench) -> None:
    before = bench.statistics()[10]
    bench.peer.command("restart")
    bench.meet()
    assert bench.statistics()[10] == before + 1


def test_a_board_that_is_started_again_is_taken_for_what_it_is(bench: Bench) -> None:
    bench.board.kill()
    bench.board = Board(bench.image, bench.peer.device)
    bench.meet()
    assert bench.statistics()[10] == 1


def test_stacks_are_large_enough(bench: Bench) -> None:
    said = bench.statistics()
    print("bytes of stack used, by level and below:", [said[level] for level in range(4)])
    assert 0 < max(said[level] for level in range(4)) < STACK_BYTES[bench.port] * 3 // 4


EVERY = bool(os.environ.get("RCLRT_MICRO_EVERY_POINT"))
WHO = ("batch", "paper", "own", "levels") if EVERY else ("batch", "own", "levels")
CHAINS = (1, 2, 3, 4, 5) if EVERY else (1, 3, 5)  # Fig. 10, 100 bytes, callbacks of 10 ms
BYTES = (100, 200, 300, 400, 500) if EVERY else (100, 500)  # Fig. 11, 3 chains, 5 ms
SAMPLES = 2 if EVERY else 1
STACK = 2048  # bytes, of each task
SHIFT = 4  # -icount: 16 ns an instruction
COUNTING = 7  # so slow that the board's counter, which has 40 ns, tells each of them


@dataclass
class Outcome:
    latency_ms: dict[int, float] = field(default_factory=dict)  # of each chain, the worst
    begin_ms: dict[str, float] = field(default_factory=dict)
    said: dict[str, dict[str, int]] = field(default_factory=dict)


def run(program: Path, *arguments: str | int, shift: int = SHIFT) -> Outcome:
    """Run the firmware to its end, with 2**shift ns an instruction."""
    config = ",".join(["enable=on,target=native", *(f"arg={word}" for word in arguments)])
    command = ["qemu-system-arm", "-M", "mps2-an500", "-kernel", str(program), "-display", "none"]
    command += ["-monitor", "none", "-serial", "none", "-icount", f"shift={shift},sleep=off"]
    result = subprocess.run(
        [*command, "-semihosting-config", config], capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, (arguments, result.stdout, result.stderr)
    outcome = Outcome()
    for line in result.stderr.splitlines():
        what, name, number = line.split()
        if what == "latency":
            worst = outcome.latency_ms.get(int(name), 0.0)
            outcome.latency_ms[int(name)] = max(worst, int(number) / 1000)
        elif what == "begin":
            outcome.begin_ms[name] = int(number) / 1000
        else:
            outcome.said.setdefault(what, {})[name] = int(number)
    return outcome


@pytest.fixture(scope="module")
def program() -> Path:
    made = image("pods")
    if isinstance(made, str):
        pytest.skip(made)
    return made


@pytest.fixture(scope="module")
def outcomes(program: Path) -> dict[tuple[str, int, str], Outcome]:
    """Give what was seen: figure, point, who."""
    points = [("chains", n, who, n, 100, 10_000) for n in CHAINS for who in WHO]
    points += [("bytes", n, who, 3, n, 5_000) for n in BYTES for who in WHO]
    with ThreadPoolExecutor(2) as pool:
        seen = pool.map(lambda p: run(program, p[2], *p[3:], SAMPLES, 0, 0), points)
    return {point[:3]: outcome for point, outcome in zip(points, seen, strict=True)}


@pytest.fixture(scope="module")
def simulated() -> dict[tuple[str, int, str], float]:
    """Give the simulator's latencies of the first chain in ms."""
    found = sorted(Path(os.environ["RCLRT_BUILD_DIR"]).rglob("rclrt_micro_pods"))
    program = next(path for path in found if path.is_file() and os.access(path, os.X_OK))
    output = subprocess.run(
        [str(program), "2", "1"], capture_output=True, text=True, check=True, timeout=100
    ).stdout
    names = {"pods-chains": "chains", "pods-packet-size": "bytes"}
    return {
        (names[row["experiment"]], int(row["point"]), row["who"]): row["max_ms"]
        for row in json.loads(output)
        if row["experiment"] in names and row["chain"] == 0
    }


def test_the_firmware_is_where_the_simulator_is(
    outcomes: dict[tuple[str, int, str], Outcome], simulated: dict[tuple[str, int, str], float]
) -> None:
    """An executor that takes no time, and 62 million instructions a second: at most 5 % apart."""
    far = {}
    for point, outcome in outcomes.items():
        seen, wanted = outcome.latency_ms[0], simulated[point]
        print(f"{point[0]} {point[1]} {point[2]}: {seen:.1f} ms, simulated {wanted:.1f}")
        if abs(seen - wanted) > 0.05 * wanted:
            far[point] = (seen, wanted)
    assert far == {}


def test_over_chains_a_batch_rises_and_we_do_not(
    outcomes: dict[tuple[str, int, str], Outcome],
) -> None:
    """The shape of Fig. 10: 20 ms a chain; equal from three chains on; equal for all."""
    top = {who: [outcomes["chains", n, who].latency_ms[0] for n in CHAINS] for who in WHO}
    print(top)
    assert max(top[who][0] for who in WHO) < 1.1 * min(top[who][0] for who in WHO)
    a_chain = (top["batch"][-1] - top["batch"][0]) / (CHAINS[-1] - CHAINS[0])
    assert 17 < a_chain < 23
    for who in set(WHO) & {"paper", "own"}:
        many = [top[who][CHAINS.index(n)] for n in CHAINS if n >= 3]
        assert max(many) < 1.05 * min(many) < top["batch"][CHAINS.index(3)]
    assert max(top["levels"]) < 1.05 * min(top["levels"])
    assert top["levels"][-1] < top["own"][-1] - 4


def test_over_the_size_of_messages_a_batch_rises_three_times_as_steeply(
    outcomes: dict[tuple[str, int, str], Outcome],
) -> None:
    """The shape of Fig. 11: both lines are straight."""
    top = {who: [outcomes["bytes", n, who].latency_ms[0] for n in BYTES] for who in WHO}
    print(top)
    rise = {who: (top[who][-1] - top[who][0]) / (BYTES[-1] - BYTES[0]) * 100 for who in WHO}
    for who in WHO:
        assert who == "batch" or 2.7 < rise["batch"] / rise[who] < 3.3
        for size, seen in zip(BYTES, top[who], strict=True):
            line = top[who][0] + rise[who] * (size - BYTES[0]) / 100
            assert seen == pytest.approx(line, rel=0.05)


def test_callbacks_begin_in_the_order_of_their_executor(
    outcomes: dict[tuple[str, int, str], Outcome],
) -> None:
    """Fig. 3 of the paper: with a batch s0 comes behind all timers, with levels amid t2."""
    begins = {who: outcomes["chains", 3, who].begin_ms for who in WHO}
    order = {who: sorted(begin, key=begin.__getitem__) for who, begin in begins.items()}
    print(order)
    assert order["batch"] == order["own"] == ["t0", "t1", "t2", "s0", "s1", "s2"]
    begin = outcomes["chains", 3, "levels"].begin_ms
    assert begin["t2"] < begin["s0"] < begin["t2"] + 10


def test_critical_sections_are_short_and_memory_suffices(program: Path) -> None:
    """Five chains with reliable messages, every fifth lost once; as FIGURES say."""
    outcome = run(program, "levels", 5, 500, 1_000, 8, 1, 5, shift=COUNTING)
    said = outcome.said
    print(said)
    masked = max(said["masked"].values()) * 40 // 2**COUNTING  # a cycle of the counter is 40 ns
    stacks = {name: used for name, used in said["stack"].items() if name != "interrupts"}
    nodes, slots = max(said["nodes"].values()), max(said["slots"].values())
    figures = (masked, max(stacks.values()), said["stack"]["interrupts"], nodes, slots)
    print("instructions, stack of a task, of interrupts, messages, frames:", figures)
    told = re.search(r"^\| on the board \| " + r" \| ".join([r"([\d,]+)"] * 5), FIGURES, re.M)
    assert told is not None
    for figure, text in zip(figures, told.groups(), strict=True):
        assert figure <= 1.1 * int(text.replace(",", "")), text
    assert max(stacks.values()) < STACK * 3 // 4


def test_the_same_run_gives_the_same_figures(
    program: Path, outcomes: dict[tuple[str, int, str], Outcome]
) -> None:
    again = run(program, "levels", 3, 100, 10_000, SAMPLES, 0, 0)
    assert again == outcomes["chains", 3, "levels"]
