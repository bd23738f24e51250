#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Make C types for rclrt_micro from the .msg, .srv and .action files of ROS 2 packages.

    generate_messages.py --output FOLDER PACKAGE... [--string N] [--sequence N]
                         [--capacity PACKAGE/TYPE.FIELD=N]...

A package is the name of one that is installed (looked for in AMENT_PREFIX_PATH, then beside this
Python), or a folder that has `msg`, `srv` or `action`. For each package there is a header and a
source, `<package>.h` and `<package>.c`; packages that its messages use are to be among those given.

A message is a plain structure, as rosidl names it: `struct std_msgs__msg__Header`. A field whose
name is a word of C or C++ has a `_` behind it: `message.default_`. A message has its whole storage
inside: a string has room for N characters, a sequence for N elements. N is the bound in the .msg
file, else what --capacity says for this field, else --string (64) or --sequence (8). What does not
fit is refused, in both directions. `<struct>__type` is what publishers and subscriptions take, and
`<struct>__MAX` the longest CDR of the message in bytes. Of an action there are the messages
`..._Goal`, `..._Result` and `..._Feedback`, and `<package>__action__<name>__type` (action.h).

What has a wstring is left out, with all that is made of it, and said on the error output.
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rosidl_adapter import parser as rosidl

# ROS name -> C type, the library's suffix, bytes.
SIMPLE = {
    "bool": ("bool", "bool", 1),
    "byte": ("uint8_t", "u8", 1),
    "char": ("uint8_t", "u8", 1),
    "int8": ("int8_t", "i8", 1),
    "uint8": ("uint8_t", "u8", 1),
    "int16": ("int16_t", "i16", 2),
    "uint16": ("uint16_t", "u16", 2),
    "int32": ("int32_t", "i32", 4),
    "uint32": ("uint32_t", "u32", 4),
    "int64": ("int64_t", "i64", 8),
    "uint64": ("uint64_t", "u64", 8),
    "float32": ("float", "f32", 4),
    "float64": ("double", "f64", 8),
}
THIRDS = ("Goal", "Result", "Feedback")  # of an action
# Names that no field can have in a header for C and C++: their keywords, macros of <stdbool.h>,
# <errno.h>, <stdio.h> and of compilers. No name in ROS ends in "_", so one more makes no other.
WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
const const_cast constexpr continue decltype default delete do double dynamic_cast else enum errno
explicit export extern false float for friend goto i386 if inline int linux long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast stderr stdin stdout
struct switch template this thread_local throw true try typedef typeid typename typeof union unix
unsigned using virtual void volatile wchar_t while xor xor_eq
"""
TAKEN = frozenset(WORDS.split())
LICENCE = "/* Made by generate_messages.py from {package}. */\n"


@dataclass
class Message:
    """A message, half of a service, or a third of an action."""

    package: str
    kind: str  # msg, srv or action
    name: str
    spec: Any  # rosidl_adapter.parser.MessageSpecification

    @property
    def c_name(self) -> str:
        """Its structure, as rosidl calls it."""
        return f"{self.package}__{self.kind}__{self.name}"

    @property
    def whole(self) -> str:
        """What it is, or is a part of, in ROS."""
        name = self.name if self.kind == "msg" else self.name.rpartition("_")[0]
        return f"{self.package}/{self.kind}/{name}"

    @property
    def is_goal(self) -> bool:
        """Say whether it is the first of an action's messages."""
        return self.kind == "action" and self.name.endswith("_Goal")

    @property
    def dds_name(self) -> str:
        """Its type on the wire."""
        return f"{self.package}::{self.kind}::dds_::{self.name}_"


@dataclass
class Capacities:
    """How much room is inside a message where its .msg file has no bound."""

    string: int
    sequence: int
    fields: dict[str, int]

    def of(self, message: Message, field: Any, bound: int | None, usual: int) -> int:
        """Return the capacity of a string or sequence."""
        name = f"{message.package}/{message.name}.{field.name}"
        return bound or self.fields.get(name, usual)


def member_name(field: Any) -> str:
    """Return the name of a field in C."""
    return f"{field.name}_" if field.name in TAKEN else str(field.name)


class Generator:
    """Knows all messages; writes packages."""

    def __init__(self, messages: list[Message], capacities: Capacities) -> None:
        self.messages = messages
        self.by_name = {(m.package, m.name): m for m in messages if m.kind == "msg"}
        self.capacities = capacities
        self.leave_out_wide()

    def leave_out_wide(self) -> None:
        """Leave out messages with a wstring, what is made of them, and the other parts of it."""
        wide: dict[str, str] = {}  # what is left out, and why

        def reason(message: Message) -> str | None:
            for field in message.spec.fields:
                where = f"{message.package}/{message.name}.{field.name}"
                if field.type.type == "wstring":
                    return f"{where} is a wstring, which is not built"
                if field.type.pkg_name is not None:
                    used = self.nested(message, field)
                    if used is not None and used.whole in wide:
                        return f"{where} is a {used.package}/{used.name}"
            return None

        found = True
        while found:
            reasons = {m.whole: why for m in self.messages if (why := reason(m)) is not None}
            found = not reasons.keys() <= wide.keys()
            wide = {**reasons, **wide}
        for whole, why in wide.items():
            print(f"{whole} is left out: {why}", file=sys.stderr)
        self.messages = [m for m in self.messages if m.whole not in wide]

    def nested(self, message: Message, field: Any) -> Message | None:
        """Return the message that a field is of, None for a simple type."""
        if field.type.pkg_name is None:
            return None
        used = self.by_name.get((field.type.pkg_name, field.type.type))
        if used is None:
            sys.exit(
                f"{message.package}/{message.name}.{field.name}: there is no "
                f"{field.type.pkg_name}/{field.type.type} in the packages given"
            )
        return used

    def element(self, message: Message, field: Any) -> tuple[str, int]:
        """Return the C type of one element, and the room in it if it is a string."""
        nested = self.nested(message, field)
        if nested is not None:
            return f"struct {nested.c_name}", 0
        if field.type.type == "string":
            room = self.capacities.of(
                message, field, field.type.string_upper_bound, self.capacities.string
            )
            return "char", room
        return SIMPLE[field.type.type][0], 0

    def elements(self, message: Message, field: Any) -> int:
        """Return how many there is room for."""
        kind = field.type
        if not kind.is_array:
            return 1
        if kind.array_size is not None and not kind.is_upper_bound:
            return int(kind.array_size)
        return self.capacities.of(message, field, kind.array_size, self.capacities.sequence)

    @staticmethod
    def is_sequence(field: Any) -> bool:
        """Say whether its length is on the wire."""
        return bool(
            field.type.is_array and (field.type.is_upper_bound or not field.type.array_size)
        )

    def member(self, message: Message, field: Any) -> list[str]:
        """Return its lines in the structure."""
        c_type, room = self.element(message, field)
        text = f"[{room + 1}]" if room else ""
        if not field.type.is_array:
            return [f"  {c_type} {member_name(field)}{text};"]
        count = self.elements(message, field)
        if not self.is_sequence(field):
            return [f"  {c_type} {member_name(field)}[{count}]{text};"]
        lines = ["  struct", "  {", "    uint32_t size; /* elements in use */"]
        return [*lines, f"    {c_type} data[{count}]{text};", f"  }} {member_name(field)};"]

    def code(self, message: Message, field: Any, *, writes: bool) -> list[str]:
        """Return the lines that write or read it."""
        where, count = f"message->{member_name(field)}", str(self.elements(message, field))
        pad, lines = "  ", []
        cursor = "writer" if writes else "reader"
        if self.is_sequence(field):
            smallest = self.smallest_element(message, field)
            if writes:
                lines += [f"  if ({where}.size > {count}U) {{", "    writer->failed = true;"]
                lines += ["    return;", "  }", f"  rclrt_write_count(writer, {where}.size);"]
            else:
                read = f"rclrt_read_count(reader, {count}U, {smallest}U)"
                lines += [f"  {where}.size = (uint32_t){read};"]
            count, where = f"{where}.size", f"{where}.data"
        if field.type.is_array:
            lines += [f"  for (uint32_t i = 0; i < {count}{'' if '.' in count else 'U'}; ++i) {{"]
            where, pad = f"{where}[i]", "    "
        nested = self.nested(message, field)
        verb = "write" if writes else "read"
        if nested is not None:
            half = "encode" if writes else "decode"
            lines += [f"{pad}{nested.c_name}__{half}(&{where}, {cursor});"]
        elif field.type.type == "string":
            room = "" if writes else f", sizeof({where})"
            lines += [f"{pad}rclrt_{verb}_string({cursor}, {where}{room});"]
        else:
            suffix = SIMPLE[field.type.type][1]
            if suffix[0] == "f":
                lines += [f"{pad}rclrt_{verb}_{suffix}({cursor}, &{where});"]
            elif writes:
                lines += [f"{pad}rclrt_write_{suffix}(writer, {where});"]
            else:
                lines += [f"{pad}{where} = rclrt_read_{suffix}(reader);"]
        return [*lines, *(["  }"] if field.type.is_array else [])]

    def smallest_element(self, message: Message, field: Any) -> int:
        """Return how few bytes an element can have: a loop over a length is bounded by them."""
        nested = self.nested(message, field)
        if nested is not None:
            return max(1, sum(self.smallest(nested, f) for f in nested.spec.fields))
        return 5 if field.type.type == "string" else SIMPLE[field.type.type][2]

    def smallest(self, message: Message, field: Any) -> int:
        """Return how few bytes a field can have: an empty sequence has its length alone."""
        if self.is_sequence(field):
            return 4
        return self.elements(message, field) * self.smallest_element(message, field)

    def longest(self, message: Message, at: int = 0) -> int:
        """Return where the message ends at the latest if it begins at `at`.

        It does so with all strings and sequences full: what begins earlier never ends later.
        """
        for field in message.spec.fields:
            if self.is_sequence(field):
                at = (at + 3) // 4 * 4 + 4
            for _ in range(self.elements(message, field)):
                nested = self.nested(message, field)
                if nested is not None:
                    at = self.longest(nested, at)
                elif field.type.type == "string":
                    at = (at + 3) // 4 * 4 + 4 + self.element(message, field)[1] + 1
                else:
                    size = SIMPLE[field.type.type][2]
                    at = (at + size - 1) // size * size + size
        return at if message.spec.fields else at + 1

    def declaration(self, message: Message) -> list[str]:
        """Return what the header says of a message."""
        name, lines = message.c_name, [""]
        for constant in message.spec.constants:
            value = constant.value
            if constant.type == "string":
                value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
            elif constant.type == "bool":
                value = str(bool(value)).lower()
            lines += [f"#define {name}__{constant.name} ({value})"]
        lines += [f"struct {name}", "{"]
        for field in message.spec.fields:
            lines += self.member(message, field)
        if not message.spec.fields:
            lines += ["  uint8_t structure_needs_at_least_one_member;"]
        lines += ["};", f"enum {{ {name}__MAX = {self.longest(message)} }};"]
        lines += [f"extern const struct rclrt_type {name}__type;"]
        lines += [
            f"void {name}__encode(const struct {name} * message, struct rclrt_writer * writer);"
        ]
        return [
            *lines,
            f"void {name}__decode(struct {name} * message, struct rclrt_reader * reader);",
        ]

    def definition(self, message: Message) -> list[str]:
        """Return the functions of a message."""
        name, lines = message.c_name, [""]
        for writes in (True, False):
            half, cursor, const = (
                ("encode", "writer", "const ") if writes else ("decode", "reader", "")
            )
            parameters = f"{const}struct {name} * message, struct rclrt_{cursor} * {cursor}"
            lines += [f"void {name}__{half}({parameters})", "{"]
            for field in message.spec.fields:
                lines += self.code(message, field, writes=writes)
            if not message.spec.fields:
                member = "message->structure_needs_at_least_one_member"
                write, read = (
                    f"rclrt_write_u8(writer, {member})",
                    f"{member} = rclrt_read_u8(reader)",
                )
                lines += [f"  {write if writes else read};"]
            lines += ["}"]
            void = f"{const}void * message, struct rclrt_{cursor} * {cursor}"
            lines += [f"static void {half}_{name}({void})", "{"]
            lines += [f"  {name}__{half}(message, {cursor});", "}"]
        lines += [f"const struct rclrt_type {name}__type = {{"]
        return [*lines, f'  "{message.dds_name}", encode_{name}, decode_{name}}};']

    def ordered(self, package: str) -> list[Message]:
        """Return the messages of a package, each behind those that it is made of."""
        done: list[Message] = []

        def add(message: Message) -> None:
            for field in message.spec.fields:
                nested = self.nested(message, field)
                if nested is not None and nested.package == package:
                    add(nested)
            if message not in done:
                done.append(message)

        for message in self.messages:
            if message.package == package:
                add(message)
        return done

    def write(self, package: str, folder: Path) -> None:
        """Write the header and the source of a package."""
        messages = self.ordered(package)
        used = {
            nested.package
            for message in messages
            for field in message.spec.fields
            if (nested := self.nested(message, field)) is not None
        } - {package}
        guard = f"{package.upper()}_H_"
        header = [LICENCE.format(package=package) + f"#ifndef {guard}", f"#define {guard}", ""]
        actions = [m.c_name.removesuffix("_Goal") for m in messages if m.is_goal]
        header += [f'#include "rclrt_micro/{"action" if actions else "client"}.h"']
        header += [f'#include "{name}.h"' for name in sorted(used)]
        source = [LICENCE.format(package=package) + f'#include "{package}.h"']
        for message in messages:
            header += self.declaration(message)
            source += self.definition(message)
        for action in actions:
            header += ["", f"extern const struct rclrt_action_type {action}__type;"]
            thirds = ", ".join(f"&{action}_{third}__type" for third in THIRDS)
            name = action.removeprefix(f"{package}__action__")
            source += ["", f"const struct rclrt_action_type {action}__type ="]
            source += [f'  RCLRT_ACTION_TYPE("{package}", "{name}", {thirds});']
        header += ["", f"#endif /* {guard} */", ""]
        (folder / f"{package}.h").write_text("\n".join(header), encoding="utf-8")
        (folder / f"{package}.c").write_text("\n".join([*source, ""]), encoding="utf-8")


def find_package(text: str) -> Path:
    """Return the folder of a package."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(":"), sys.prefix]
    places = [Path(text), *(Path(prefix) / "share" / text for prefix in prefixes if prefix)]
    for place in places:
        if any((place / kind).is_dir() for kind in ("msg", "srv", "action")):
            return place
    sys.exit(f"{text}: no such package; looked at {', '.join(map(str, places))}")


def read_package(folder: Path) -> list[Message]:
    """Return the messages, services and actions in a package's folder."""
    package = folder.resolve().name
    messages = []
    for path in sorted(folder.glob("msg/*.msg")):
        spec = rosidl.parse_message_file(package, str(path))
        messages.append(Message(package, "msg", path.stem, spec))
    for path in sorted(folder.glob("srv/*.srv")):
        service = rosidl.parse_service_file(package, str(path))
        for half, spec in (("Request", service.request), ("Response", service.response)):
            messages.append(Message(package, "srv", f"{path.stem}_{half}", spec))
    for path in sorted(folder.glob("action/*.action")):
        action = rosidl.parse_action_file(package, str(path))
        thirds = (action.goal, action.result, action.feedback)
        for third, spec in zip(THIRDS, thirds, strict=True):
            messages.append(Message(package, "action", f"{path.stem}_{third}", spec))
    if not messages:
        sys.exit(f"{folder}: no msg/*.msg, no srv/*.srv, no action/*.action")
    return messages


def _capacity(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"(\w+/\w+\.\w+)=(\d+)", text)
    if match is None or int(match[2]) == 0:
        raise argparse.ArgumentTypeError(f"{text}: not PACKAGE/TYPE.FIELD=N")
    return match[1], int(match[2])


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("packages", nargs="+", metavar="PACKAGE")
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--string", type=int, default=64, help="characters (64)")
    options.add_argument("--sequence", type=int, default=8, help="elements (8)")
    options.add_argument("--capacity", type=_capacity, action="append", default=[])
    given = options.parse_args(arguments)
    messages = [message for text in given.packages for message in read_package(find_package(text))]
    generator = Generator(messages, Capacities(given.string, given.sequence, dict(given.capacity)))
    given.output.mkdir(parents=True, exist_ok=True)
    for package in dict.fromkeys(message.package for message in messages):
        generator.write(package, given.output)


if __name__ == "__main__":
    main()
