# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The agent, something on its line, and a node of rclpy, for tests over real DDS."""

import contextlib
import os
import pty
import re
import select
import socket
import struct
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32, String

PROGRAMS = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_agent"
PATIENCE_S = 30.0


class Wire:
    """Two pseudo-terminals that are joined, as a serial line's two ends."""

    def __init__(self) -> None:
        pairs = [pty.openpty(), pty.openpty()]
        self.masters = [master for master, _ in pairs]
        self.slaves = [slave for _, slave in pairs]
        for slave in self.slaves:
            tty.setraw(slave)
        self.ends = [os.ttyname(slave) for slave in self.slaves]
        self.stopped = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.stopped:
            for master in select.select(self.masters, [], [], 0.1)[0]:
                other = self.masters[1 - self.masters.index(master)]
                os.write(other, os.read(master, 4096))

    def close(self) -> None:
        self.stopped = True
        self.thread.join()
        for end in self.masters + self.slaves:
            os.close(end)


class Bench:
    """The agent, a client, and a node of rclpy."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node: Node = rclpy.create_node("far_end", context=self.context)
        self.spinner = SingleThreadedExecutor(context=self.context)
        self.spinner.add_node(self.node)
        self.children: list[subprocess.Popen[str]] = []
        self.wire = Wire()
        self.second_wire = Wire()
        self.up: list[int] = []
        self.long_up: list[str] = []
        qos = QoSProfile(depth=200)
        self.node.create_subscription(Int32, "up", lambda m: self.up.append(m.data), qos)
        self.node.create_subscription(String, "long_up", lambda m: self.long_up.append(m.data), qos)
        self.down = self.node.create_publisher(Int32, "down", qos)
        self.long_down = self.node.create_publisher(String, "long_down", qos)

    def start(self, *command: str, talks: bool = False) -> subprocess.Popen[str]:
        """Start a program of the package; with `talks` one that is talked to."""
        child = subprocess.Popen(
            [str(PROGRAMS / command[0]), *command[1:]],
            stdin=subprocess.PIPE if talks else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.children.append(child)
        return child

    def line(self, kind: str, port: str) -> list[str]:
        """Return the arguments of the agent for that line."""
        if kind == "multiserial":
            return ["--devs", f"{self.wire.ends[0]} {self.second_wire.ends[0]}"]
        return ["--dev", self.wire.ends[0]] if kind == "serial" else ["-p", port]

    def start_agent(self, kind: str, *more: str) -> tuple[subprocess.Popen[str], str]:
        """Start the agent; returns it and where its clients find it."""
        agent = self.start("rclrt_agent", kind, *self.line(kind, "0"), *more)
        assert agent.stdout is not None
        text = ""
        while "listening at" not in text:
            text = agent.stdout.readline()
            assert text, "the agent has ended"
        threading.Thread(target=agent.stdout.read, daemon=True).start()
        where = self.wire.ends[1] if "serial" in kind else re.findall(r"\d+", text)[-1]
        return agent, where

    def start_client(self, kind: str, where: str, key: str = "1") -> subprocess.Popen[str]:
        """Start a client and wait until all of it is there."""
        client = self.start("agent_test_client", kind.removesuffix("4"), where, key)
        assert client.stdout is not None
        line = client.stdout.readline()
        assert line == "ready\n", line
        return client

    def until(self, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
        """Spin until `condition` holds; False when that takes too long."""
        end = time.monotonic() + patience_s
        while not condition() and time.monotonic() < end:
            self.spinner.spin_once(timeout_sec=0.01)
        return bool(condition())

    def matched(self) -> bool:
        """Wait until the client's four topics are known here, and its publisher knows us.

        The last is seen by an answer only: what was sent before it may be lost.
        """
        up = self.node.resolve_topic_name("up")
        known = self.until(
            lambda: (
                self.down.get_subscription_count() > 0
                and self.long_down.get_subscription_count() > 0
                and self.node.count_publishers(up) > 0
            )
        )
        end = time.monotonic() + PATIENCE_S
        while known and not self.up and time.monotonic() < end:
            self.down.publish(Int32(data=7))
            self.until(lambda: self.up, 3.0)
        known = known and bool(self.up)
        self.until(lambda: False, 0.2)
        self.up.clear()
        return known

    def close(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.wire.close()
        self.second_wire.close()


CREATE, GET_INFO, DELETE, STATUS_AGENT, STATUS, INFO, WRITE_DATA, READ_DATA, DATA = range(1, 10)
ACKNACK, HEARTBEAT, TIMESTAMP, TIMESTAMP_REPLY = 10, 11, 14, 15
BY_XML, BY_BINARY = 2, 3
PARTICIPANT, TOPIC, PUBLISHER, SUBSCRIBER, WRITER, READER, REPLIER = 1, 2, 3, 4, 5, 6, 8
OK = 0


def texts(*parts: str | bytes) -> bytes:
    """Return strings as CDR has them, and between them what is bytes as it is."""
    data = b""
    for part in parts:
        if isinstance(part, str):
            data += bytes(-len(data) % 4) + struct.pack("<I", len(part) + 1) + part.encode() + b"\0"
        else:
            data += part
    return data


@dataclass(frozen=True)
class Stack:
    """What a flight stack's client does, as its sources say."""

    key: bytes
    participant: bytes
    representation: int
    asks_time: int
    """How often it does, before it creates anything else."""
    stream: int
    """The stream that carries its data, and data for it."""
    at_once: int
    """How many WRITE_DATA it puts into a message."""
    writer_qos: bytes
    reader_qos: bytes
    numbers: tuple[int, int, int]
    """In the identifiers of what it reads, writes and serves."""


STACKS = {
    # uxrce_dds_client from 1.14 on, for this host only: best effort; transient local, and 10.
    "px4": Stack(
        b"\0\0\0\1",
        b"<dds><profiles><transport_descriptors><transport_descriptor><transport_id>udp_localhost"
        b"</transport_id><type>UDPv4</type><interfaceWhiteList><address>127.0.0.1</address>"
        b"</interfaceWhiteList></transport_descriptor></transport_descriptors></profiles>"
        b"<participant><rtps><name>/px4_micro_xrce_dds</name><useBuiltinTransports>false"
        b"</useBuiltinTransports><userTransports><transport_id>udp_localhost</transport_id>"
        b"</userTransports></rtps></participant></dds>\0",
        BY_XML,
        5,
        0x01,
        1,
        bytes([0x0A, 0, 0]),
        bytes([0x02, 0, 1, 0, 10, 0]),
        (0x800, 0x123, 0x800),
    ),
    # AP_DDS: keep the last 20, reliable; the last 5, best effort.
    "ardupilot": Stack(
        b"\xaa\xaa\xbb\xbb",
        texts(b"\0\1", "ap"),
        BY_BINARY,
        0,
        0x80,
        3,
        bytes([0x03, 0, 1, 0, 20, 0]),
        bytes([0x02, 0, 1, 0, 5, 0]),
        (1, 0, 0),
    ),
}


class Board:
    """The client of eProsima with which a flight stack talks: over UDP, or a serial line."""

    def __init__(self, stack: Stack, kind: str, where: str) -> None:
        self.stack = stack
        self.serial = kind == "serial"
        if self.serial:
            self.end = os.open(where, os.O_RDWR | os.O_NOCTTY)
            self.bytes = b""
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.connect(("127.0.0.1", int(where)))
            self.end = self.socket.fileno()
        self.down: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.sent, self.expected, self.fast, self.request = 0, 0, 0, 10
        self.unacknowledged = 0

    def close(self) -> None:
        os.close(self.end) if self.serial else self.socket.close()

    def send(self, *submessages: tuple[int, bytes], session: int = 0x81, stream: int = 0) -> None:
        number = 0
        if stream == 0x80:
            number, self.sent = self.sent, self.sent + 1
        elif stream:
            number, self.fast = self.fast, self.fast + 1
        message = struct.pack("<BBH", session, stream, number & 0xFFFF)
        for kind, payload in submessages:
            flags = 5 if kind == CREATE else 1  # replace
            message += bytes(-len(message) % 4) + struct.pack("<BBH", kind, flags, len(payload))
            message += payload
        if not self.serial:
            with contextlib.suppress(ConnectionRefusedError):  # the agent is away
                self.socket.send(message)
            return
        frame = struct.pack("<BBH", 1, 0, len(message)) + message + struct.pack("<H", arc(message))
        for special in (b"\x7d", b"\x7e"):
            frame = frame.replace(special, b"\x7d" + bytes([special[0] ^ 0x20]))
        os.write(self.end, b"\x7e" + frame)

    def receive(self, patience_s: float) -> bytes | None:
        """Return the next message; None if none comes, or not in time."""
        end = time.monotonic() + patience_s
        while True:
            if self.serial:
                begin, flag, rest = self.bytes.lstrip(b"\x7e").partition(b"\x7e")
                plain = re.sub(b"(?s)\x7d(.)", lambda m: bytes([m[1][0] ^ 0x20]), begin)
                size = struct.unpack_from("<H", plain, 2)[0] if len(plain) >= 4 else 1 << 16
                if flag or (len(plain) >= 6 + size and not begin.endswith(b"\x7d")):
                    self.bytes = flag + rest
                    assert plain[4 + size :] == struct.pack("<H", arc(plain[4 : 4 + size]))
                    return plain[4 : 4 + size]
            if not select.select([self.end], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            try:
                got = os.read(self.end, 4096) if self.serial else self.socket.recv(4096)
            except ConnectionRefusedError:
                continue
            if not self.serial:
                return got
            self.bytes += got

    def hear(self, patience_s: float = 0.0) -> Iterator[tuple[int, bytes]]:
        """Yield the submessages that come, and acknowledge what is reliable."""
        message = self.receive(patience_s)
        if message is None:
            return
        session, stream, number = struct.unpack_from("<BBH", message)
        assert session in (0x80, 0x81)
        if stream == 0x80:
            new = number == self.expected
            self.expected += new
            self.send((ACKNACK, struct.pack("<HHB", self.expected, 0, 0x80)))
            if not new:
                return
        at = 4
        while at < len(message):
            kind, _, size = struct.unpack_from("<BBH", message, at)
            payload = message[at + 4 : at + 4 + size]
            at += 4 + (size + 3) // 4 * 4
            if kind == HEARTBEAT:
                self.send((ACKNACK, struct.pack("<HHB", self.expected, 0, 0x80)))
            elif kind == ACKNACK:
                self.unacknowledged = self.sent - struct.unpack_from("<H", payload)[0]
            else:
                yield kind, payload

    def ask(
        self, question: tuple[int, bytes], answer: int, patience_s: float = 1.0, **how: int
    ) -> bytes | None:
        """Ask outside streams; None if it is not answered in time."""
        self.send(question, **how)
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            for kind, payload in self.hear(end - time.monotonic()):
                if kind == answer:
                    return payload
        return None

    def ping(self, session: int = 0x81) -> int | None:
        """Return what the agent says: 1 if there is a session; None if it says nothing."""
        question = struct.pack(">HHI", 10, 0xFFFD, 0x02000000)
        info = self.ask((GET_INFO, question), INFO, session=session)
        return info and info[5]

    def leave(self) -> int | None:
        status = self.ask((DELETE, struct.pack(">HH", 2, 0xFFFE)), STATUS)
        return status and status[4]

    def create(self, *entities: tuple[int, int, bytes, bytes, int]) -> None:
        """Ask for all of them in one message, and wait for what becomes of them."""
        asked, submessages = {}, []
        for number, kind, body, behind, representation in entities:
            self.request += 1
            asked[self.request] = number
            head = struct.pack(">HHBB", self.request, number << 4 | kind, kind, representation)
            body = head + b"\0\0" + struct.pack("<I", len(body)) + body
            pad = bytes(-len(body) % 2) if kind == PARTICIPANT else b""
            submessages.append((CREATE, body + pad + behind))
        self.send(*submessages, stream=0x80)
        end = time.monotonic() + PATIENCE_S
        while asked and time.monotonic() < end:
            for kind, payload in self.hear(0.1):
                if kind == STATUS:
                    request, _, status = struct.unpack_from(">HHB", payload)
                    assert status == OK, (asked.get(request), status)
                    asked.pop(request, None)
        assert not asked

    def read(self, number: int, kind: int, stream: int) -> None:
        self.request += 1
        head = struct.pack(">HHBBBB", self.request, number << 4 | kind, stream, 0, 0, 1)
        self.send((READ_DATA, head + struct.pack("<HHHH", 0xFFFF, 0, 0, 0)), stream=0x80)

    def start(self) -> None:
        """Find the agent, greet it, and make what the flight stack makes, in its order."""
        stack, type_ = self.stack, "std_msgs::msg::dds_::Int32_"
        self.begin()
        end = time.monotonic() + PATIENCE_S
        while self.ping(session=0x80) is None:
            assert time.monotonic() < end
        greeting = b"XRCE\1\0\1\x0f" + stack.key + b"\x81\0" + struct.pack("<H", 508)
        greeted = self.ask((0, greeting), STATUS_AGENT, session=0x80)
        assert greeted and greeted[0] == OK
        by, none = BY_BINARY, bytes(2)
        self.create((1, PARTICIPANT, stack.participant, none, stack.representation))
        for _ in range(stack.asks_time):
            times = self.ask((TIMESTAMP, struct.pack("<II", 12, 34)), TIMESTAMP_REPLY)
            assert times and struct.unpack_from("<II", times, 16) == (12, 34)
        owner, (reads, writes, serves) = b"\0\x11", stack.numbers

        def endpoint(number: int, group: int, kind: int, topic: str, qos: bytes, tail: int) -> None:
            name, id_ = texts(topic, b"\0\1", type_) + b"\0", number << 4
            body = struct.pack(">HB", id_ | TOPIC, 1) + b"\0" + qos + bytes(tail)
            self.create(
                (number, TOPIC, name, owner, by),
                (number, group, none, owner, by),
                (number, kind, body, struct.pack(">H", id_ | group), by),
            )

        endpoint(reads, SUBSCRIBER, READER, "rt/down", stack.reader_qos, 5)
        self.read(reads, READER, stack.stream)
        service = texts(
            "state",
            "lifecycle_msgs::srv::dds_::GetState_Request_",
            "lifecycle_msgs::srv::dds_::GetState_Response_",
            b"\1",
            "rq/board/stateRequest",
            b"\1",
            "rr/board/stateReply",
        )
        self.create((serves, REPLIER, service, owner, by))
        self.read(serves, REPLIER, 0x80)
        endpoint(writes, PUBLISHER, WRITER, "rt/up", stack.writer_qos, 4)

    def write(self, *numbers: int) -> None:
        """Publish, as many in one message as the flight stack puts there."""
        identity = struct.pack(">HH", self.request, self.stack.numbers[1] << 4 | WRITER)
        for i in range(0, len(numbers), self.stack.at_once):
            several = numbers[i : i + self.stack.at_once]
            self.send(
                *((WRITE_DATA, identity + struct.pack("<i", number)) for number in several),
                stream=self.stack.stream,
            )

    def step(self) -> None:
        """Take what has come: numbers, and requests, which it answers."""
        for kind, payload in self.hear():
            object_ = struct.unpack_from(">H", payload, 2)[0]
            if kind == DATA and object_ & 0xF == READER:
                self.down.append(struct.unpack_from("<i", payload, 4)[0])
            elif kind == DATA:
                state = payload[:28] + b"\3\0\0\0" + texts("board")
                self.send((WRITE_DATA, state), stream=0x80)


def arc(message: bytes) -> int:
    """Return the CRC that eProsima's clients and agents use on serial lines."""
    crc = 0
    for byte in message:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc
