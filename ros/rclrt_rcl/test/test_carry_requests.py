# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Requests, replies and goals hand deadlines on between processes, ours and those that we carry."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from test_carry import LIBRARY, PLAIN, Run, Start, run
from test_deadlines_across_processes import WANTED, Peer, start, wait_for

__all__ = ["run", "start"]  # the fixtures
REPLY = 1_000_000
"""Added by `deadline_peer` to the numbers of requests when it has the reply."""

carried = pytest.mark.skipif(
    not LIBRARY.exists(), reason="there is no librclrt_run: a sanitizer cannot be preloaded"
)


def plain(role: str) -> list[str]:
    """Return the command of a stranger."""
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
    """So it is the library that does it."""
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
