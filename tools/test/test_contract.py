# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What our code relies on of rclcpp, in each release, without rclcpp.

The headers of a release are stand-ins: the declarations of tools/requirements/contract.txt, and
around them what makes them C++.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import contract
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RCLRT_BUILD_DIR", ROOT / "build"))
CONTRACT = contract.read()
RELEASES = list(CONTRACT.majors)
OURS = ROOT / "ros/rclrt_rclcpp"
COMPILE = ["c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", f"-I{OURS}/src"]
# What the declarations name.
AROUND = """#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>
struct rcl_wait_set_t {};
struct rcl_event_t {};
struct rcl_timer_t {};
using rcl_event_callback_t = void (*)(const void *, size_t);
#define SHARED(name) using SharedPtr = std::shared_ptr<name>; using WeakPtr = std::weak_ptr<name>;
namespace rclcpp {
class Context { public: SHARED(Context) };
class Clock { public: SHARED(Clock) };
class Node { public: SHARED(Node) };
class GuardCondition { public: SHARED(GuardCondition) };
class ServiceBase { public: SHARED(ServiceBase) };
class ClientBase { public: SHARED(ClientBase) };
enum class CallbackGroupType { MutuallyExclusive };
enum class DeliveredMessageKind { ROS_MESSAGE, SERIALIZED_MESSAGE };
namespace node_interfaces { class NodeBaseInterface { public: SHARED(NodeBaseInterface) }; }
namespace memory_strategy { class MemoryStrategy { public: SHARED(MemoryStrategy) }; }
namespace executors {
class ExecutorEntitiesCollector {};
class ExecutorEntitiesCollection {};
class ExecutorNotifyWaitable {};
}
using node_interfaces::NodeBaseInterface;
using executors::ExecutorEntitiesCollector;
using executors::ExecutorEntitiesCollection;
using executors::ExecutorNotifyWaitable;
using WeakCallbackGroupsToNodesMap = std::map<int, int>;
using WeakCallbackGroupsToGuardConditionsMap = std::map<int, long>;
class EventsQueue { public: using UniquePtr = std::unique_ptr<EventsQueue>; };
}
"""
ORDER = ("TimerBase", "SubscriptionBase", "Waitable", "CallbackGroup")  # before the others


def facts(release: str) -> Iterator[contract.Fact]:
    yield from (fact for fact in CONTRACT.facts if release in fact.releases)


def stand_in(folder: Path, release: str, old: str = "", new: str = "") -> Path:
    """Write the headers of a release into a folder; `new` in the place of `old` in all of them."""
    texts: dict[tuple[str, str], list[str]] = {}
    for fact in facts(release):
        lines = texts.setdefault((fact.header, fact.where), [])
        line = re.sub("^(public|protected|private) ", r"\1: ", fact.text) + ";"
        if "without " not in line and line not in lines:
            lines.append(line)
    headers: dict[str, str] = {}
    compiled = AROUND
    for header, where in sorted(texts, key=lambda key: (*ORDER, key[1]).index(key[1])):
        body = "\n".join(texts[header, where]).replace(*(old, new) if old else ("", ""))
        name = where.split()[-1]
        if where.startswith("struct "):
            body = f"typedef struct {{\n{body}\n}} {name};"
        elif where.startswith("body of "):
            body = f"void {name}(\n)\n{{\n{body}\n}}"
        elif where not in ("functions", "words"):
            base = ": public Waitable" if "EventHandler" in where else ""
            body = f"class {where} {base} {{ public: SHARED({where})\n{body}\n}};"
            compiled += "" if "experimental" in header else f"namespace rclcpp {{ {body} }}\n"
        headers[header] = f"{headers.get(header, '')}{body}\n"
    files = {f"{'' if name.startswith('src/') else 'include/'}{name}": text
             for name, text in headers.items()}  # fmt: skip
    files |= {f"compiled/{name}": '#include "all.hpp"\n' for name in (*headers, "rcl/wait.h")}
    files["compiled/tracetools/tracetools.h"] = ""
    files["compiled/all.hpp"] = compiled
    files["compiled/rclcpp/version.h"] = (
        f"#define RCLCPP_VERSION_MAJOR {CONTRACT.majors[release]}\n"
    )
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def compiled(folder: Path) -> str:
    """Return what the compiler says of our check of a release's headers; empty: nothing."""
    done = subprocess.run(
        [*COMPILE, f"-I{folder}/compiled", OURS / "src/contract.cpp"],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


@pytest.mark.parametrize("release", RELEASES)
def test_with_the_headers_of_each_release_nothing_is_missing(tmp_path: Path, release: str) -> None:
    folder = stand_in(tmp_path, release)
    problems, missing, what = contract.check([folder], release)
    assert (problems, missing) == ([], set())
    assert int(re.findall(r": (\d+) things", what)[0]) == len([*facts(release)])
    assert compiled(folder) == ""


@pytest.mark.parametrize("release", RELEASES)
def test_whatever_changes_is_seen(tmp_path: Path, release: str) -> None:
    folder = stand_in(tmp_path, release)
    for fact in facts(release):
        path = contract.find([folder], fact.header)
        text = path.read_text(encoding="utf-8") if path else ""
        said = re.sub("^(public|protected|private|without) ", "", fact.text)
        other = f"{text}\nint {said}();" if "without" in fact.text else text.replace(said, "x y")
        assert contract.differs(fact, text) == ""
        assert contract.differs(fact, other) != "", fact


def test_a_change_is_named_with_our_line_and_what_is_there(tmp_path: Path) -> None:
    before, after = "protected: void collect_entities()", "private: void collect_entities(bool)"
    folder = stand_in(tmp_path, "jazzy", before, after)
    (line,), _, _ = contract.check([folder], "jazzy")
    ours, _, rest = line.partition(": needs ")
    file, _, number = ours.partition(":")
    assert "::collect_entities" in (ROOT / file).read_text("utf-8").splitlines()[int(number) - 1]
    assert rest.startswith("`protected void collect_entities()` (rclcpp/executor.hpp), which jazzy")
    assert rest.endswith("here it is: private void collect_entities(bool)")


@pytest.mark.parametrize(
    ("release", "old", "new", "says"),
    [
        ("humble", "std::atomic_bool spinning", "std::atomic_int spinning", "another spinning"),
        ("jazzy", "Collector collector_", "Collection collector_", "another collector_"),
        ("kilted", "virtual std::shared_ptr<void> call", "virtual bool call", "another call"),
        ("lyrical", "const std::shared_ptr<Node> &,", "std::shared_ptr<Node>,", "add_node"),
        ("lyrical", "(std::function<void(size_t)>)", "()", "cannot convert .*TimerBase"),
    ],
)  # fmt: skip
def test_a_build_with_another_signature_fails_with_the_line(
    tmp_path: Path, release: str, old: str, new: str, says: str
) -> None:
    found = compiled(stand_in(tmp_path, release, old, new))
    assert re.search(rf"contract\.cpp:\d+:\d+: error: .*{says}", found), found


def test_the_preloaded_library_has_a_stand_in_for_each_spelling() -> None:
    """A symbol that is missing here is a function that `rclrt run` would not see."""
    libraries = [*BUILD.glob("rclrt_probe/librclrt_*.so")]
    if not libraries:
        pytest.skip("rclrt_probe is not built here")
    listed = subprocess.run(
        ["nm", "-D", "-C", "--defined-only", *libraries],
        capture_output=True, text=True, check=True, timeout=100,
    ).stdout  # fmt: skip
    nanoseconds = "std::chrono::duration<long, std::ratio<1l, 1000000000l> >"
    listed = listed.replace(nanoseconds, "std::chrono::nanoseconds")
    listed = re.sub(r"(std::shared_ptr<[^<>]*>) const&", r"const \1&", listed)
    there = {contract.plain(line.split(" ", 2)[2]) for line in listed.splitlines()}
    for fact in CONTRACT.facts:
        if not fact.ours.startswith("see/rclrt_probe") or fact.where.startswith("struct "):
            continue
        name = fact.name
        if "points_" in fact.ours:
            name = f"ros_trace_{name}"
        elif fact.where != "functions":
            call = contract.plain(fact.text)[len("public ") :]
            name = f"{fact.where}::{call[call.index(name) :]}"
        if name.endswith(("get_timer_handle()", "type()const")):
            continue  # called, not replaced
        assert name in there, f"{fact.line()}: no stand-in for {name}"


# Names of ours, of C++, or of all releases, though they stand beside what only some have.
OTHERS = frozenset(
    {
        *("begin", "end", "find", "erase", "lock", "expired", "exchange", "push_back", "get"),
        *("is_valid", "listen_to", "cancelled", "call", "forget_gone_groups", "context"),
        *("know_node", "take_data", "dequeue", "keep", "configured", "EngineExecutor"),
    }
)


def of_one_release(text: str) -> Iterator[str]:
    """Yield what stands between the directives that ask for rclcpp's version."""
    asks, lines = 0, []
    for line in text.splitlines():
        if line.startswith("#if") and (asks or re.search("RCLCPP_(VERSION|IS|POLLS)|SERVES", line)):
            asks += 1
        elif asks and line.startswith("#endif"):
            asks -= 1
        elif asks:
            lines.append(line.partition("//")[0])
    yield "\n".join(lines)


def test_all_that_our_code_takes_from_one_release_alone_is_in_the_data() -> None:
    known = {fact.name for fact in CONTRACT.facts} | OTHERS
    used: dict[str, set[str]] = {}
    for path in [*OURS.glob("src/*.[ch]pp"), *OURS.glob("include/*/*.hpp")]:
        text = path.read_text(encoding="utf-8")
        inside = "\n".join(of_one_release(text))
        names = {*re.findall(r"&(?:Access|Current|Opened|EventsExecutor)::(\w+)", text)}
        names |= {*re.findall(r"using rclcpp::Executor::(\w+);", text)}
        names |= {*re.findall(r"\b(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\) override;", text)}
        names |= {*re.findall(r"\b(RMW_EVENT_\w+|rcl_node_\w+(?=\())", inside)}
        names |= {*re.findall(r"DeliveredMessageKind::(\w+)", inside)}
        names |= {*re.findall(r"(?:\.|->)(\w+)\(", inside)}
        if path.name != "contract.cpp":
            for name in names:
                used.setdefault(name, set()).add(path.name)
    missing = {name: files for name, files in used.items() if name not in known}
    assert missing == {}
    assert {"spinning", "collector_", "spin_once_impl", "RMW_EVENT_PUBLICATION_MATCHED"} <= {*used}


def test_each_executor_of_rclcpp_that_our_code_knows_has_a_page_for_who_leaves_it() -> None:
    """We rely on declarations of some of them, and a preloaded library takes calls of others."""
    relied_on = (ROOT / "tools/requirements/contract.txt").read_text(encoding="utf-8")
    taken = (ROOT / "see/rclrt_probe/src/executors.cpp").read_text(encoding="utf-8")
    known = {*re.findall(r"^\[(\w+Executor) in rclcpp/", relied_on, re.M)}
    known |= {*re.findall(r"executors\d+(\w+?Executor)", taken)}
    page = (ROOT / "docs/how-to/from-other-executors.md").read_text(encoding="utf-8")
    headings = "".join(re.findall("^## .*", page, re.M))
    assert {"SingleThreadedExecutor", "EventsExecutor"} < known
    assert {name for name in known if not re.search(rf"\b{name}\b", headings)} == set()
