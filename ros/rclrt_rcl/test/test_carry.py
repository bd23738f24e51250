# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines go from process to process: of our programs, and of others by a preloaded library."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rclrt_tools.trace import read_trace
from test_deadlines_across_processes import PATIENCE_S, WANTED, Peer, start, wait_for

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
LIBRARY = BUILD / "rclrt_probe" / "librclrt_run.so"
STOCK = BUILD / "rclrt_probe" / "stock_relay"
RCL = BUILD / "rclrt_rcl" / "plain_rcl"
PLAIN = Path(__file__).parent / "plain_relay.py"

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists(), reason="there is no librclrt_run: a sanitizer cannot be preloaded"
)
__all__ = ["start"]  # the fixture
REPLY = 1_000_000
"""Added by `deadline_peer` to the numbers of requests when it has the reply."""


class Stranger:
    """A program without rclrt, and the lines that it has printed."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **environment),
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def stop(self) -> str:
        """End it, and return what it has complained about."""
        self.process.send_signal(signal.SIGKILL)
        self.reader.join()
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            complaints = stream.read()
        self.process.wait(timeout=PATIENCE_S)
        return complaints


Run = Callable[..., Stranger]


@pytest.fixture
def run() -> Iterator[Run]:
    """Provide a function that runs a stranger. None is left behind."""
    strangers: list[Stranger] = []

    def run_one(command: list[str], **environment: str) -> Stranger:
        strangers.append(Stranger(command, **environment))
        return strangers[-1]

    yield run_one
    for stranger in strangers:
        if stranger.process.returncode is None:
            stranger.stop()


Start = Callable[..., Peer]
RELAYS = {
    "rclpy": [sys.executable, str(PLAIN), "relay"],
    "rclpy, threads": [sys.executable, str(PLAIN), "threads"],
    "rclpy, bytes": [sys.executable, str(PLAIN), "raw"],
    **{f"rclcpp {kind}": [str(STOCK), kind] for kind in ("single", "multi", "events")},
}


@pytest.mark.parametrize("relay", RELAYS)
def test_a_relay_of_any_client_library_hands_the_deadline_on_and_is_traced_if_asked_for(
    start: Start, run: Run, relay: str, tmp_path: Path
) -> None:
    """Exactly that of the message which it answers, for every message."""
    if not relay.startswith("rclpy") and not STOCK.exists():
        pytest.skip(f"there is no {STOCK.name}: it is built where rclcpp is found")
    sink = start("sink")
    traced = {"RCLRT_PROBE_FOLDER": str(tmp_path)}
    run(RELAYS[relay], LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="", **traced)
    source = start("source", "500")
    assert wait_for(lambda: len(sink.said) >= WANTED)
    assert wait_for(lambda: any(tmp_path.glob("*.trace")))
    heard = dict(sink.said)
    assert wait_for(lambda: heard.keys() <= source.said.keys())
    assert None not in heard.values()
    assert heard == {number: source.said[number] for number in heard}


def jobs_of(folder: Path, entity: str) -> set[int]:
    """Return the deadlines of the jobs of a kind of callback in the traces of a process."""
    found: set[int] = set()
    for path in folder.glob("*.trace"):
        trace = read_trace(path)
        wanted = [key for key, name in trace.names.items() if entity in name]
        found.update(int(job["deadline_ns"]) for job in trace.jobs if job["callback"] in wanted)
    return found


@pytest.mark.parametrize("relay", RELAYS)
def test_rclrt_order_over_both_traces_sees_the_deadlines_of_the_source_at_the_sink(
    start: Start, run: Run, tmp_path: Path, relay: str
) -> None:
    """And that jobs ran in this order: on all CPUs, so nothing has to wait long."""
    if not relay.startswith("rclpy") and not STOCK.exists():
        pytest.skip(f"there is no {STOCK.name}: it is built where rclcpp is found")
    peers = {name: tmp_path / name for name in ("sink", "source")}
    sink = start("sink", RCLRT_TRACE=str(peers["sink"]))
    run(RELAYS[relay], LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="")
    source = start("source", "500", RCLRT_TRACE=str(peers["source"]))
    assert wait_for(lambda: len(sink.said) >= WANTED)
    sink.stop()
    source.stop()
    files = sorted(map(str, tmp_path.glob("*/*.trace")))
    options = ["--cpus", str(os.cpu_count()), "--bound", str(int(PATIENCE_S * 1e6))]
    command = [sys.executable, "-m", "rclrt_tools.cli", "trace", "order", *files, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("in order"), done.stdout
    taken = jobs_of(peers["sink"], "/subscription/")
    assert len(taken) >= WANTED
    assert taken <= jobs_of(peers["source"], "/timer/")


def test_a_relay_that_is_left_as_it_is_hands_none_on(start: Start, run: Run) -> None:
    sink = start("sink")
    run(RELAYS["rclpy"])
    start("source", "500")
    assert wait_for(lambda: len(sink.said) >= WANTED)
    assert set(sink.said.values()) == {None}


def assert_timed(sink: Peer, source: Stranger, wanted: int = WANTED) -> None:
    """Hold deadlines of 250.5 ms after the publication against what the publisher has timed."""
    assert wait_for(lambda: len(sink.said) >= wanted)
    heard = dict(sink.said)
    assert wait_for(lambda: len(source.lines) >= max(heard))
    found = 0
    for number, before, after in (map(int, line.split()) for line in list(source.lines)):
        if number in heard:
            deadline = heard[number]
            assert deadline is not None
            assert before <= deadline - 250_500_000 <= after
            found += 1
    assert found >= wanted


def test_messages_of_a_topic_that_is_named_have_a_deadline(start: Start, run: Run) -> None:
    """So long after their publication, which the publisher has timed itself."""
    sink = start("sink")
    command = [sys.executable, str(PLAIN), "source"]
    source = run(command, LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="/other=7,/pong=250.5")
    assert_timed(sink, source)


def test_threads_that_publish_by_one_publisher_do_not_mix_deadlines(start: Start, run: Run) -> None:
    """Each of four threads has timed its own messages; they go out at about the same time."""
    sink = start("sink")
    command = [str(RCL), "threads"]
    source = run(command, LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="/pong=250.5")
    assert_timed(sink, source, 10 * WANTED)


def test_messages_that_the_middleware_has_lent_hand_the_deadline_on(start: Start, run: Run) -> None:
    sink = start("times")
    lending = {"LD_PRELOAD": str(LIBRARY), "RCLRT_CARRY": "", "ROS_DISABLE_LOANED_MESSAGES": "0"}
    run([str(RCL), "borrow"], **lending)
    source = run([str(RCL), "lend"], **lending | {"RCLRT_CARRY": "/first=250.5"})
    assert_timed(sink, source)


def test_events_and_content_filters_of_a_carried_program_are_what_they_were(
    run: Run, tmp_path: Path
) -> None:
    """A program of rclpy prints the same lines with the library and without."""
    seen = []
    for variables in ({}, {"LD_PRELOAD": str(LIBRARY), "RCLRT_CARRY": "/filtered=20"}):
        done = subprocess.run(
            [sys.executable, str(PLAIN.with_name("plain_features.py"))],
            env=dict(os.environ, **variables),
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout)
    assert seen[0] == seen[1]
    assert seen[0].splitlines() == [
        "offered incompatible QoS",
        "requested incompatible QoS",
        "deadline missed",
        "matched",
        "filtered 2 4 6 8",
        "bytes 9",
    ]


def test_a_wrong_list_of_topics_is_told_and_the_program_runs(start: Start, run: Run) -> None:
    sink = start("sink")
    command = [sys.executable, str(PLAIN), "source"]
    source = run(command, LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="/pong=20ms")
    assert wait_for(lambda: len(sink.said) >= WANTED)
    assert set(sink.said.values()) == {None}
    assert "RCLRT_CARRY: '/pong=20ms'" in source.stop()


carried = pytest.mark.skipif(
    not LIBRARY.exists(), reason="there is no librclrt_run: a sanitizer cannot be preloaded"
)


def plain(role: str) -> list[str]:
    return [sys.executable, str(PLAIN), role]


def assert_same(heard: Peer, said: Peer, more: int = 0) -> None:
    """Hold the deadline of every message that was heard against the one with which it was sent."""
    assert wait_for(lambda: len([n for n in heard.said if n > more]) >= WANTED)
    found = {number - more: due for number, due in heard.said.items() if number > more}
    assert wait_for(lambda: found.keys() <= said.said.keys())
    assert None not in found.values()
    assert found == {number: said.said[number] for number in found}


def test_a_service_of_ours_runs_by_the_deadline_of_a_request_and_so_does_its_reply(
    start: Start,
) -> None:
    """To the nanosecond, in the server's process and back in the client's."""
    server = start("server")
    asker = start("asker", "500")
    assert_same(server, asker)
    assert_same(asker, asker, REPLY)


@carried
def test_a_service_in_python_hands_the_deadline_back(start: Start, run: Run) -> None:
    asker = start("asker", "500")
    run(plain("server"), LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="")
    assert_same(asker, asker, REPLY)


def test_a_service_in_python_that_is_left_as_it_is_hands_none_back(start: Start, run: Run) -> None:
    asker = start("asker", "500")
    run(plain("server"))
    assert wait_for(lambda: len([n for n in asker.said if n > REPLY]) >= WANTED)
    assert {due for number, due in asker.said.items() if number > REPLY} == {None}


@carried
def test_a_client_in_python_asks_by_the_deadline_of_what_it_has_taken(
    start: Start, run: Run
) -> None:
    """Topic, request, reply, topic: from our timer by two processes of strangers to our sink."""
    sink = start("sink")
    server = start("server")
    run(plain("asker"), LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="")
    source = start("source", "500")
    assert_same(server, source)
    assert_same(sink, source)


@carried
def test_requests_to_a_service_that_is_named_have_a_deadline(start: Start, run: Run) -> None:
    """So long after they were sent, which the client has timed itself."""
    server = start("server")
    client = run(plain("timer"), LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="/echo=250.5")
    assert wait_for(lambda: len(server.said) >= WANTED)
    heard = dict(server.said)
    assert wait_for(lambda: len(client.lines) >= max(heard))
    for number, before, after in (map(int, line.split()) for line in list(client.lines)):
        if number in heard:
            deadline = heard[number]
            assert deadline is not None
            assert before <= deadline - 250_500_000 <= after


@carried
@pytest.mark.skipif(
    importlib.util.find_spec("test_msgs") is None, reason="no test_msgs: tools/requirements/ros.txt"
)
def test_goals_of_actions_hand_the_deadline_on(start: Start, run: Run) -> None:
    """From a topic over the request of a goal to a topic, by two processes of strangers."""
    sink = start("sink")
    run(plain("actor"), LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="")
    run(plain("sender"), LD_PRELOAD=str(LIBRARY), RCLRT_CARRY="")
    source = start("source", "500")
    assert_same(sink, source)
