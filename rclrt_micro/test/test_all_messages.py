# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every message that is installed: what the generator makes reads and writes rosidl's CDR."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "tools"))

pytest.importorskip("rosidl_adapter", reason="no rosidl_adapter: requirements/ros.txt")
serialization = pytest.importorskip("rclpy.serialization", reason="no rclpy")
import generate_messages as generator  # noqa: E402

STRING, SEQUENCE = 20, 3
SUFFIXES = (".msg", ".srv", ".action")
COMMON_INTERFACES = {
    *(
        "actionlib_msgs",
        "diagnostic_msgs",
        "geometry_msgs",
        "nav_msgs",
        "sensor_msgs",
        "shape_msgs",
    ),
    *("std_msgs", "std_srvs", "stereo_msgs", "trajectory_msgs", "visualization_msgs"),
}
HEADER = b"\x00\x01\x00\x00"  # little-endian CDR


def _packages(folder: Path) -> list[str]:
    """Return the packages with messages beside this Python; of test_msgs what can be made."""
    found = Path(sys.prefix).glob("share/*/*/*.*")
    names = {path.parents[1].name for path in found if path.suffix in SUFFIXES}
    if "test_msgs" not in names:
        return sorted(names)
    copy = folder / "test_msgs"
    for path in (Path(sys.prefix) / "share" / "test_msgs").glob("*/*.*"):
        if path.suffix in SUFFIXES and "wstring" not in path.read_text(encoding="utf-8"):
            (copy / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy / path.parent.name)
    return [*sorted(names - {"test_msgs"}), str(copy)]


def _fill(made: generator.Generator, message: generator.Message, chance: random.Random) -> Any:
    """Return an object of rclpy with any content that fits."""
    module = importlib.import_module(f"{message.package}.{message.kind}")
    name, _, half = message.name.partition("_")
    of_ros = getattr(getattr(module, name), half) if half else getattr(module, name)
    filled = of_ros()
    for field in message.spec.fields:
        count = made.elements(message, field)
        if made.is_sequence(field):
            count = chance.randint(0, count)
        values = [_value(made, message, field, chance) for _ in range(count)]
        if field.type.is_array and field.type.type == "byte":
            values = [bytes([value]) if isinstance(value, int) else value for value in values]
        setattr(filled, field.name, values if field.type.is_array else values[0])
    return filled


def _value(
    made: generator.Generator, message: generator.Message, field: Any, chance: random.Random
) -> Any:
    nested = made.nested(message, field)
    if nested is not None:
        return _fill(made, nested, chance)
    kind = field.type.type
    if kind == "string":
        room = made.element(message, field)[1]
        return "".join(chance.choice("abc de") for _ in range(chance.randint(0, room)))
    if kind == "bool":
        return chance.random() < 0.5
    if kind in ("float32", "float64"):
        return float(chance.randint(-1000, 1000)) / 8
    if kind == "byte":
        return bytes([chance.randint(0, 255)])
    bits = generator.SIMPLE[kind][2] * 8
    signed = kind.startswith("int")
    return (
        chance.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if signed
        else chance.getrandbits(bits)
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[generator.Generator, ctypes.CDLL]:
    """Give the generator, and what it made as a library."""
    folder = tmp_path_factory.mktemp("messages")
    packages = _packages(tmp_path_factory.mktemp("packages"))
    options = ["--string", str(STRING), "--sequence", str(SEQUENCE), "--output", str(folder)]
    generator.main([*options, *packages])
    messages = [
        m for name in packages for m in generator.read_package(generator.find_package(name))
    ]
    made = generator.Generator(messages, generator.Capacities(STRING, SEQUENCE, {}))
    names = [message.c_name for message in messages]
    lines = [f'#include "{Path(name).name}.h"' for name in packages]
    lines += ["static const struct rclrt_type * const types[] = {"]
    lines += [f"  &{name}__type," for name in names]
    lines += ["};", "const unsigned longest[] = {", *(f"  {name}__MAX," for name in names), "};"]
    lines += ["static union {", *(f"  struct {name} m{i};" for i, name in enumerate(names))]
    lines += ["} message;"]
    lines += [
        "long round_trip(int type, const uint8_t * in, size_t size, uint8_t * out, size_t room)"
    ]
    lines += ["{", "  struct rclrt_reader reader;", "  struct rclrt_writer writer;"]
    lines += ["  rclrt_reader_init(&reader, in, size);", "  rclrt_writer_init(&writer, out, room);"]
    lines += ["  types[type]->decode(&message, &reader);"]
    lines += ["  types[type]->encode(&message, &writer);"]
    lines += ["  return reader.failed || writer.failed ? -1L : (long)writer.at;", "}", ""]
    (folder / "driver.c").write_text("\n".join(lines), encoding="utf-8")
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
    command += ["-shared", "-fPIC", "-O0", f"-I{PACKAGE / 'include'}", f"-I{folder}"]
    command += [*map(str, folder.glob("*.c"))]
    command += [str(PACKAGE / "src" / name) for name in ("cdr.c", "action.c")]
    subprocess.run([*command, "-o", str(folder / "driver.so")], check=True, timeout=100)
    library = ctypes.CDLL(str(folder / "driver.so"))
    library.round_trip.restype = ctypes.c_long
    return made, library


def test_the_cdr_of_every_message_is_read_and_written_as_rosidl_does(
    compiled: tuple[generator.Generator, ctypes.CDLL],
) -> None:
    made, library = compiled
    chance = random.Random(7)
    longest = (ctypes.c_uint * len(made.messages)).in_dll(library, "longest")
    out = ctypes.create_string_buffer(1 << 20)
    looked_at = 0
    for index, message in enumerate(made.messages):
        for _ in range(5):
            original = _fill(made, message, chance)
            wanted = serialization.serialize_message(original)
            assert wanted[:4] == HEADER
            body = wanted[4:]
            size = library.round_trip(index, body, ctypes.c_size_t(len(body)), out, len(out))
            assert 0 < size <= len(body), message.c_name  # rosidl leaves bytes at the end unused
            again = serialization.deserialize_message(HEADER + out.raw[:size], type(original))
            assert again == original, message.c_name  # Bytes between fields may be anything.
            assert size <= longest[index], message.c_name
            looked_at += 1
    print(f"{len(made.messages)} types, {looked_at} messages")
    assert looked_at > 500


def test_all_of_common_interfaces_is_among_them(
    compiled: tuple[generator.Generator, ctypes.CDLL],
) -> None:
    assert {message.package for message in compiled[0].messages} >= COMMON_INTERFACES


def test_the_messages_of_actions_are_among_them(
    compiled: tuple[generator.Generator, ctypes.CDLL],
) -> None:
    names = {message.c_name for message in compiled[0].messages}
    if "test_msgs__msg__Empty" not in names:
        pytest.skip("no test_msgs")
    assert {f"test_msgs__action__Fibonacci_{third}" for third in generator.THIRDS} <= names
    assert {f"test_msgs__action__NestedMessage_{third}" for third in generator.THIRDS} <= names


def test_bytes_that_end_too_early_are_refused(
    compiled: tuple[generator.Generator, ctypes.CDLL],
) -> None:
    made, library = compiled
    chance = random.Random(8)
    out = ctypes.create_string_buffer(1 << 20)
    for index, message in enumerate(made.messages):
        body = serialization.serialize_message(_fill(made, message, chance))[4:]
        end = library.round_trip(index, body, ctypes.c_size_t(len(body)), out, len(out))
        for size in range(0, end, 1 + end // 20):
            got = library.round_trip(index, body[:size], ctypes.c_size_t(size), out, len(out))
            assert got == -1, message.c_name


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "some_msgs"
    (folder / "msg").mkdir(parents=True)
    (folder / "msg" / "Wide.msg").write_text("wstring text\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"some_msgs/Wide\.text: wstring is not built"):
        generator.main(["--output", str(tmp_path / "out"), str(folder)])
    (folder / "msg" / "Wide.msg").write_text("other_msgs/Thing thing\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no other_msgs/Thing in the packages given"):
        generator.main(["--output", str(tmp_path / "out"), str(folder)])
