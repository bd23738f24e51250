# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt apply` writes down of what was there before, and what it does about a refusal."""

import errno
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from rclrt_tools.apply import helper
from rclrt_tools.apply.entries import read_entries
from rclrt_tools.apply.held import Held, StateError, Store
from rclrt_tools.apply.keeper import Keeper
from rclrt_tools.apply.parts import Cpus, Policy, Target
from test_apply import HEAD, PROC, Victim, ask, gives_nice_back, keeper, victims, written

__all__ = ["victims"]

BAD = [
    b"", b"{}", b"nonsense", b'{"schema": 1, "number": 5, "boot": "", "held": [{}]}', b"[" * 99999,
    b'{"schema":1,"number":1,"boot":"","held":[{"target":{"process":-1,"number":1,"born":1,'
    b'"name":"","program":"","parent":0},"since":0,"before":{},"given":{}}]}',
    b'{"schema":1,"number":1,"boot":"","held":[{"target":{"process":1,"number":1,"born":1,'
    b'"name":"","program":"","parent":0},"since":0,"before":{"policy":{"name":"fifo",'
    b'"priority":100}},"given":{"policy":{"name":"other"}}}]}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("is_signed", [False, True])
def test_nothing_of_a_damaged_state_is_used(tmp_path: Path, text: bytes, is_signed: bool) -> None:
    digest = hashlib.sha256(text).hexdigest().encode() + b" " if is_signed else b""
    (tmp_path / "held.0").write_bytes(digest + text)
    held, wrong = Store(tmp_path).read()
    assert held == []
    assert ("held.0 is damaged" in wrong) == bool(digest + text)


def test_a_state_that_is_cut_short_leaves_the_one_before(tmp_path: Path) -> None:
    def made(number: int) -> Held:
        parts = {"cpus": Cpus((0,))}
        return Held(Target(7, number, 5, "a\x1b"), 3, parts, {"cpus": Cpus((1,))})

    store = Store(tmp_path)
    store.write([made(1)])
    store.write([made(1), made(2)])
    store.close()
    newest = max(tmp_path.glob("held.?"), key=lambda path: path.stat().st_size)
    store = Store(tmp_path)
    assert len(store.read()[0]) == 2
    store.close()
    newest.write_bytes(newest.read_bytes()[:-9])
    held, wrong = Store(tmp_path).read()
    assert [one.target.number for one in held] == [1] and "cut short" in wrong
    assert held[0].target.name == "a?"


def test_a_state_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "held.1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="symbolic links"):
        Store(tmp_path)


@gives_nice_back
def test_what_no_file_says_is_given_back_too(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victim = victims("recvUC")
    target = victim.target("recvUC")
    own = 5_000_000
    assert ask(Policy("other", kept=own).request(target)) == 0
    if Policy.of(target, PROC).kept != own:
        pytest.skip("this kernel has no slices of a thread")
    entry = "{scheduling_policy: batch, nice: 5}"
    file = written(tmp_path, f"{HEAD}      non_ros_threads: {{victim/recv*: {entry}}}\n")
    one, _ = keeper(file, store := Store(tmp_path))
    one.sweep()
    assert Policy.of(target, PROC) == Policy("batch", nice=5)
    store.close()
    store = Store(tmp_path)
    one, _ = keeper(file, store)
    one.take_over(store.read()[0])
    assert Policy.of(target, PROC).kept == own


def test_what_has_no_room_is_tried_again_and_told_once(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victims("recvUC")
    fields = "scheduling_policy: deadline, runtime: 5ms, deadline: 10ms, period: 10ms, "
    path = written(
        tmp_path, f"{HEAD}      non_ros_threads: {{victim/recv*: {{{fields}cpu_affinity: [0]}}}}\n"
    )
    answers = [0, errno.EBUSY, errno.EBUSY, errno.EBUSY, 0]
    told: list[str] = []
    explained: list[str] = []
    asked: list[helper.Request] = []

    def answer(request: helper.Request) -> int:
        asked.append(request)
        return answers.pop(0)

    one = Keeper(
        read_entries(path)[0], store := Store(tmp_path), answer, told.append, explained.append,
        capable=True,
    )  # fmt: skip
    for _ in range(4):
        one.sweep()
        lacking = one.lacking
        assert lacking == (1 if answers else 0)
    (held,) = one.held.values()
    assert held.given.keys() == {"policy", "cpus"} and held.before["policy"].name == "other"
    (written_down,) = store.read()[0]
    assert written_down.given == held.given
    one.sweep()
    assert len(asked) == 5 and len(told) == 1 and "has not so much" not in told[0]
    assert len(explained) == 2 and "there is room for it now" in explained[1]
