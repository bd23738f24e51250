# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every message that is installed, and random types: what the generator makes reads and writes CDR.

Of installed messages that CDR is rosidl's own. Of random types it is what `_cdr` writes; `_cdr` is
held against rosidl for all that are installed.
"""

import ctypes
import importlib
import importlib.util
import random
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "tools"))

pytest.importorskip("rosidl_adapter", reason="no rosidl_adapter: tools/requirements/ros.txt")
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


RANDOM, RANDOM_TYPES, RANDOM_LONGEST = "random_msgs", 120, 3000
KINDS = [*generator.SIMPLE, *["float64", "int64"] * 4, *["string", "string<=5"] * 2]
ENDINGS = ["", "", "[]", "[]", "[<=2]", "[3]"]
FORMATS = {"bool": "?", "float32": "f", "float64": "d"}


def _packages() -> list[str]:
    found = Path(sys.prefix).glob("share/*/*/*.*")
    return sorted({path.parents[1].name for path in found if path.suffix in SUFFIXES})


def _random_package(folder: Path, chance: random.Random) -> Path:
    """Make messages of any fields: values, strings, messages; alone, in arrays, in sequences."""
    words = sorted(word for word in generator.TAKEN if "__" not in word)
    (folder / RANDOM / "msg").mkdir(parents=True)
    specs: list[generator.Message] = []
    while len(specs) < RANDOM_TYPES:
        kinds = KINDS + [spec.name for spec in specs[-20:]]
        name = f"Any{len(specs)}"
        names = chance.sample([*words, "size", "data", "message", "reader"], chance.randint(0, 4))
        text = "".join(f"{chance.choice(kinds)}{chance.choice(ENDINGS)} {n}\n" for n in names)
        spec = generator.rosidl.parse_message_string(RANDOM, name, text)
        specs.append(generator.Message(RANDOM, "msg", name, spec))
        made = generator.Generator(specs, generator.Capacities(STRING, SEQUENCE, {}))
        if made.longest(specs[-1]) > RANDOM_LONGEST:
            specs.pop()
            continue
        (folder / RANDOM / "msg" / f"{name}.msg").write_text(text, encoding="utf-8")
    return folder / RANDOM


def _values(
    made: generator.Generator, message: generator.Message, chance: random.Random
) -> list[Any]:
    """Return any content that fits: of each field its value, or the list of its elements."""
    content = []
    for field in message.spec.fields:
        count = made.elements(message, field)
        if made.is_sequence(field):
            count = chance.choice([0, chance.randint(0, count)])
        values = [_value(made, message, field, chance) for _ in range(count)]
        content.append(values if field.type.is_array else values[0])
    return content


def _value(
    made: generator.Generator, message: generator.Message, field: Any, chance: random.Random
) -> Any:
    nested = made.nested(message, field)
    if nested is not None:
        return _values(made, nested, chance)
    kind = field.type.type
    if kind == "string":
        room = made.element(message, field)[1]
        return "".join(chance.choice("abc de") for _ in range(chance.randint(0, room)))
    if kind == "bool":
        return chance.random() < 0.5
    if kind in ("float32", "float64"):
        return float(chance.randint(-1000, 1000)) / 8
    bits = generator.SIMPLE[kind][2] * 8
    return chance.getrandbits(bits) - (2 ** (bits - 1) if kind.startswith("int") else 0)


def _of_ros(made: generator.Generator, message: generator.Message, content: list[Any]) -> Any:
    module = importlib.import_module(f"{message.package}.{message.kind}")
    name, _, half = message.name.partition("_")
    filled = (getattr(getattr(module, name), half) if half else getattr(module, name))()
    for field, values in zip(message.spec.fields, content, strict=True):
        nested = made.nested(message, field)
        elements = values if field.type.is_array else [values]
        if nested is not None:
            elements = [_of_ros(made, nested, element) for element in elements]
        elif field.type.type == "byte":
            elements = [bytes([element]) for element in elements]
        setattr(filled, field.name, elements if field.type.is_array else elements[0])
    return filled


def _cdr(
    made: generator.Generator, message: generator.Message, content: list[Any], cdr: bytearray
) -> bytearray:
    """Append it to `cdr`: each value aligned to its size, a length before what varies."""

    def put(form: str, value: Any) -> None:
        cdr.extend(bytes(-len(cdr) % struct.calcsize(form)))
        cdr.extend(struct.pack("<" + form, value))

    for field, values in zip(message.spec.fields, content, strict=True):
        if made.is_sequence(field):
            put("I", len(values))
        nested = made.nested(message, field)
        for value in values if field.type.is_array else [values]:
            if nested is not None:
                _cdr(made, nested, value, cdr)
            elif field.type.type == "string":
                put("I", len(value) + 1)
                cdr.extend(value.encode() + bytes(1))
            else:
                letter = "bhiq"[generator.SIMPLE[field.type.type][2].bit_length() - 1]
                signed = field.type.type.startswith("int")
                put(FORMATS.get(field.type.type, letter if signed else letter.upper()), value)
    if not message.spec.fields:
        put("B", 0)
    return cdr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[generator.Generator, ctypes.CDLL]:
    """Give the generator, and what it made as a library."""
    folder = tmp_path_factory.mktemp("messages")
    random_package = _random_package(tmp_path_factory.mktemp("packages"), random.Random(9))
    packages = [*_packages(), str(random_package)]
    options = ["--string", str(STRING), "--sequence", str(SEQUENCE), "--output", str(folder)]
    generator.main([*options, *packages])
    messages = [
        m for name in packages for m in generator.read_package(generator.find_package(name))
    ]
    made = generator.Generator(messages, generator.Capacities(STRING, SEQUENCE, {}))
    names = [message.c_name for message in made.messages]
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
            content = _values(made, message, chance)
            wanted = bytes(_cdr(made, message, content, bytearray()))
            bodies = [wanted]
            if message.package != RANDOM:
                original = _of_ros(made, message, content)
                assert (
                    serialization.deserialize_message(HEADER + wanted, type(original)) == original
                )
                # Between fields and at the end it may have any bytes.
                bodies.append(serialization.serialize_message(original)[4:])
            for body in bodies:
                size = library.round_trip(index, body, ctypes.c_size_t(len(body)), out, len(out))
                assert out.raw[: max(size, 0)] == wanted, (message.c_name, size, content)
            assert len(wanted) <= longest[index], message.c_name
            looked_at += 1
    print(f"{len(made.messages)} types, {looked_at} messages")
    assert looked_at > 5 * (100 + RANDOM_TYPES)


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
        body = bytes(_cdr(made, message, _values(made, message, chance), bytearray()))
        end = library.round_trip(index, body, ctypes.c_size_t(len(body)), out, len(out))
        for size in range(0, end, 1 + end // 20):
            got = library.round_trip(index, body[:size], ctypes.c_size_t(size), out, len(out))
            assert got == -1, message.c_name


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "some_msgs"
    (folder / "msg").mkdir(parents=True)
    (folder / "msg" / "Wide.msg").write_text("other_msgs/Thing thing\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no other_msgs/Thing in the packages given"):
        generator.main(["--output", str(tmp_path / "out"), str(folder)])


def test_a_wstring_leaves_out_what_is_made_of_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "some_msgs"
    files = {
        "msg/Wide.msg": "wstring text\n",
        "msg/Of.msg": "Wide[] wide\n",
        "msg/Plain.msg": "string text\n",
        "srv/Ask.srv": "some_msgs/Of[2] of\n---\nint8 code\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    generator.main(["--output", str(tmp_path / "out"), str(folder)])
    header = (tmp_path / "out" / "some_msgs.h").read_text(encoding="utf-8")
    assert set(re.findall(r"struct some_msgs__(\w+)\n", header)) == {"msg__Plain"}
    said = capsys.readouterr().err
    assert "some_msgs/msg/Wide is left out: some_msgs/Wide.text is a wstring" in said
    assert "some_msgs/msg/Of is left out: some_msgs/Of.wide is a some_msgs/Wide" in said
    assert "some_msgs/srv/Ask is left out: some_msgs/Ask_Request.of is a some_msgs/Of" in said
