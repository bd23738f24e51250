# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of tools/ find what they must and let pass what is allowed.

The mutation tool changes one thing at a time, puts it back, and tells what nobody noticed.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(check: str, path: Path) -> tuple[int, str]:
    """Return the exit status of tools/check_<check>.py and what it has printed."""
    tool = ROOT / "tools" / f"check_{check}.py"
    result = subprocess.run(
        [sys.executable, tool, path], capture_output=True, text=True, timeout=60, check=False
    )
    return result.returncode, result.stdout + result.stderr


def write(root: Path, name: str, text: str) -> None:
    path = root / "engine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def manifest(*dependencies: str) -> str:
    return f"<package format='3'>\n{''.join(dependencies)}</package>\n"


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("rclrt_core/src/a.cpp", "#include <rcl/rcl.h>\n", "rclrt_core must not see rcl"),
        ("rclrt_core/src/a.cpp", "#include <yaml-cpp/yaml.h>\n", "must not see yaml-cpp"),
        ("rclrt_core/src/a.cpp", "\n#  include <sched.h>\n", "a.cpp:2: sched.h belongs in"),
        ("rclrt_core/src/a.cpp", '#include "platform/linux/b.hpp"\n', "is one platform's"),
        ("rclrt_core/src/edf/a.cpp", '#include "../platform/sim/b.hpp"\n', "is one platform's"),
        ("rclrt_core/src/a.cpp", "#include <rclrt_core/sim_platform.hpp>\n", "is one platform's"),
        ("rclrt_core/src/a.cpp", "#include <sys/mman.h>\n", "sys/mman.h belongs in"),
        ("rclrt_core/include/rclrt_core/a.hpp", "#include <unistd.h>\n", "unistd.h belongs in"),
        (
            "rclrt_core/include/rclrt_core/a.hpp",
            '#include "rclrt_core/linux_platform.hpp"\n',
            "is one platform's",
        ),
        (
            "rclrt_core/include/rclrt_core/a.hpp",
            '#include "../../src/platform/linux/b.hpp"\n',
            "is one platform's",
        ),
        ("rclrt_core/src/platform/a.cpp", '#include "linux/b.hpp"\n', "is one platform's"),
        ("rclrt_core/src/platform/sim/a.cpp", '#include "../linux/b.hpp"\n', "is one platform's"),
        ("rclrt_core/include/a.hpp", '#include "rclrt_rcl/node.hpp"\n', "must not see rclrt_rcl"),
        ("rclrt_core/src/a.cpp", "#include <gtest/gtest.h>\n", "must not see gtest"),
        ("rclrt_trace/include/a.h", "#include <boost/any.hpp>\n", "must not see boost"),
        ("rclrt_rcl/src/a.cpp", "#include <rclcpp/rclcpp.hpp>\n", "must not see rclcpp"),
        ("rclrt_rcl/src/a.cpp", '#include "../../rclrt_core/src/b.hpp"\n', "leads out of"),
        ("rclrt_config/src/a.cpp", "#include <rcl/rcl.h>\n", "rclrt_config must not see rcl"),
        ("rclrt_watch/src/a.cpp", "#include <rcl/rcl.h>\n", "rclrt_watch must not see rcl"),
        ("rclrt_core/a.cpp", '#include "rclrt_config/chain.hpp"\n', "must not see rclrt_config"),
        ("rclrt_examples/a.cpp", '#include "rclrt_rcl/detail/b.hpp"\n', "is private to rclrt_rcl"),
        ("rclrt_rcl/a.cpp", '#include "rclrt_baselines/a.hpp"\n', "must not see rclrt_benchmarks"),
        ("rclrt_micro/src/a.c", '#include "rclrt_core/job.hpp"\n', "must not see rclrt_core"),
        ("rclrt_analysis/src/a.py", "import os, rclpy.node\n", "must not see rclpy"),
        ("rclrt_scenarios/a.py", "", "holds data only"),
        (
            "rclrt_core/package.xml",
            manifest("<depend>rcl</depend>"),
            "package.xml:2: rclrt_core must not see rcl",
        ),
        (
            "rclrt_rcl/package.xml",
            manifest("<exec_depend>rclrt_rclcpp</exec_depend>"),
            "must not see rclrt_rclcpp",
        ),
        ("rclrt_surprise/a.cpp", "", "no layer"),
    ],
)
def test_what_a_layer_must_not_see_is_named_with_its_place(
    tmp_path: Path, file: str, content: str, complaint: str
) -> None:
    write(tmp_path, file, content)
    status, text = run("layers", tmp_path)
    assert status == 1
    assert complaint in text
    assert len(text.splitlines()) == 1


def test_what_a_layer_may_see_passes(tmp_path: Path) -> None:
    write(tmp_path, "rclrt_core/src/own/b.hpp", "")
    write(
        tmp_path,
        "rclrt_core/src/a.cpp",
        '#include <vector>\n#include "own/b.hpp"\n'
        '#include "rclrt_core/job.hpp"\n#include "rclrt_trace/record.h"\n'
        "#include <boost/intrusive/set.hpp>\n",
    )
    write(
        tmp_path,
        "rclrt_core/src/platform/linux/c.cpp",
        '#include <sched.h>\n#include <sys/mman.h>\n#include "rclrt_core/linux_platform.hpp"\n'
        '#include "platform/linux/d.hpp"\n#include "platform/e.hpp"\n',
    )
    write(tmp_path, "rclrt_core/src/platform/linux/d.hpp", "")
    write(tmp_path, "rclrt_core/src/platform/e.hpp", "")
    write(tmp_path, "rclrt_core/src/f.cpp", '#include "platform/e.hpp"\n')
    write(
        tmp_path,
        "rclrt_core/test/d.cpp",
        '#include <gtest/gtest.h>\n#include <sched.h>\n#include "../src/own/b.hpp"\n',
    )
    write(
        tmp_path,
        "rclrt_core/package.xml",
        manifest(
            "<buildtool_depend>cmake</buildtool_depend>",
            "<depend>rclrt_trace</depend><test_depend>libgtest-dev</test_depend>",
        ),
    )
    write(tmp_path, "rclrt_rcl/src/a.cpp", "#include <rcl/rcl.h>\n#include <yaml-cpp/yaml.h>\n")
    write(tmp_path, "rclrt_rcl/test/peer.py", "import rclpy\n")
    write(tmp_path, "rclrt_benchmarks/a.cpp", '#include "rclrt_baselines/a.hpp"\n')
    status, text = run("layers", tmp_path)
    assert status == 0, text


def test_this_tree_keeps_its_layers() -> None:
    status, text = run("layers", ROOT)
    assert status == 0, text


LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.cpp", LICENSE + "\n" * 599, ""),
        ("a.cpp", LICENSE + "\n" * 600, "601 lines"),
        ("a.py", "print()\n", "a.py: no SPDX"),
        ("package.xml", "<version>9.9.9</version>", "VERSION tells"),
        ("package.xml", "<package></package>", "VERSION tells"),
        ("a.csv", "\n" * 1000, ""),
    ],
    ids=["600 lines", "601 lines", "no licence", "another version", "no version", "data"],
)
def test_a_file_has_a_licence_the_version_and_few_lines(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    status, said = run("files", path)
    assert status == int(says != "")
    assert says in said


SOURCES = "ros/rclrt_rclcpp/src"
FOLDERS = (SOURCES, "ros/rclrt_front_end/src", "ros/rclrt_front_end/include")


@pytest.fixture(name="tree")
def copy_of_the_sources(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_the_tree_as_it_is_passes(tree: Path) -> None:
    assert run("locks", tree) == (0, "locks: none without priority inheritance\n")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (f"{SOURCES}/timers.cpp", "std::mutex mutex;"),
        (f"{SOURCES}/waitable_events.hpp", "std::lock_guard<std::mutex> lock(mutex_);"),
        (f"{SOURCES}/spinner.hpp", "std::mutex update_request_mutex_;"),
        (f"{SOURCES}/spinner.hpp", "std::condition_variable update_request_;"),
        (f"{SOURCES}/announce.cpp", "static std::recursive_mutex & m = *new std::recursive_mutex;"),
        (f"{FOLDERS[2]}/rclrt_front_end/configured_engine.hpp", "mutable std::mutex findings_;"),
    ],
)
def test_a_lock_that_does_not_inherit_priorities_is_named(tree: Path, file: str, line: str) -> None:
    path = tree / file
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    status, text = run("locks", tree)
    assert status == 1
    assert f"{file}:" in text


def test_an_entry_without_its_mutex_is_named(tree: Path) -> None:
    (tree / SOURCES / "scheduling.cpp").unlink()
    status, text = run("locks", tree)
    assert status == 1
    assert "scheduling.cpp needs no entry any more" in text


GLOSSARY = """# G

| say | not |
|---|---|
| timer thread | clock thread, ticker |

| name in C++ | only |
|---|---|
| ticket | Ticket |
| guard | ros/b, ros/c |

end
"""


LANGUAGES = (
    "c", "cmake", "console", "cpp", "dockerfile", "ini", "mermaid", "python", "sh", "text", "yaml",
)  # fmt: skip
NO_END = "the end of a block has text behind it, so the block does not end there"
OF_SHELL = "a block is sh if all of it is for a shell, console if lines with '$ ' are"
NAME = "say 'timer thread', not 'clock thread'"
HEADLESS = "a comment begins with '@': name what it speaks of"
NOBODY = "'who' refers to no word: say 'the thread that' or the like"


def page(tmp_path: Path, text: str) -> tuple[int, str]:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "a.md").write_text(text)
    return run("words", tmp_path)


def test_the_pages_of_this_tree_are_right() -> None:
    status, text = run("words", ROOT)
    assert status == 0, text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\nthe clock\nthread", "a.md:2: say 'timer thread', not 'clock thread'"),
        ("Ticker.", "a.md:1: say 'timer thread', not 'ticker'"),
        ("[x](b.md)", "a.md:1: b.md: no such file"),
        ("a\n[x]: those b", "a.md:2: those: no such file"),
        ("a\n\n| b |\n|---|\n| c |\n\n| d |\n", "a.md:7: a table without a head"),
        ("# A b\n\n[x](#a-c)", "a.md:3: #a-c: no such heading"),
        ("[x](docs/glossary.md#h)", "a.md:1: docs/glossary.md#h: no such heading"),
        ("\n```\na\n```\n", f"a.md:2: a block of code of '', not of {', '.join(LANGUAGES)}"),
        ("```sh\na\n$ b\n```\n", f"a.md:1: {OF_SHELL}"),
        ("```console\na\n```\n", f"a.md:1: {OF_SHELL}"),
        ("```sh\na\n``` b\n```\n", f"a.md:1: {NO_END}"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    assert page(tmp_path, text) == (1, says + "\n")


@pytest.mark.parametrize(
    ("text", "word", "says"),
    [
        ("int a(int TICKER);  // @\n// thread\n", "the clock", f"1: {NAME}"),
        ("// A.\n// Of b.\n\n/// @ c.\n", "Of", f"4: {HEADLESS}"),
        ("int a;  /* @. */\n", "The same", f"1: {HEADLESS}"),
        ('"""@ b."""\n', "Those of", f"1: {HEADLESS}"),
        ("# A.\nb = 1  # @ c\n", "that of", f"2: {HEADLESS}"),
        ("/// @.\n", "As above", f"1: {HEADLESS}"),
        ("// @.\n", "Ditto", f"1: {HEADLESS}"),
        ("// It is held by\n// @ waits.\n", "who", f"2: {NOBODY}"),
        ('a(b, "@ waits is told");\n', "who", f"1: {NOBODY}"),
    ],
)
def test_sources_are_checked_as_well(tmp_path: Path, text: str, word: str, says: str) -> None:
    (tmp_path / "a.cpp").write_text(text.replace("@", word))
    assert page(tmp_path, "") == (1, f"a.cpp:{says.replace('@', word)}\n")


@pytest.mark.parametrize(
    ("folder", "text", "says"),
    [
        ("engine/a/src", "a::Order ticket = 0;\n", "'Order ticket': ticket is for Ticket"),
        ("engine/a/src", "f(const Order & ticket)\n", "'Order & ticket': ticket is for Ticket"),
        ("ros/a/include", "optional<Order> ticket;\n", "'Order> ticket': ticket is for Ticket"),
        ("engine/a/src", "int a;  // Guards.\n", "'Guard': guard is for ros/b, ros/c"),
        ("engine/a/src", "const Ticket * ticket;\nint ticket;\nOrder ticketed;\n", ""),
        ("ros/c/src", "Guard guard;\n", ""),
        ("ros/a/test", "Guard guard;\nOrder ticket;\n", ""),
    ],
)
def test_a_name_has_no_second_meaning(tmp_path: Path, folder: str, text: str, says: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "a.hpp").write_text(text)
    told = f"{folder}/a.hpp:1: {says} only, see docs/glossary.md\n"
    assert page(tmp_path, "") == ((1, told) if says else (0, "words: 2 pages, none wrong\n"))


def test_what_may_begin_a_comment_or_follow_a_preposition(tmp_path: Path) -> None:
    right = "int a;  // of b\n// Offers a thread that asks who waits.\n[b for who in c];\n"
    (tmp_path / "a.cpp").write_text(right)
    assert page(tmp_path, "") == (0, "words: 2 pages, none wrong\n")


@pytest.mark.parametrize(
    "text",
    [
        "tickers, `ticker`\n```sh\nticker [x](b.md)\n```\n",
        "# `A` b: c\n\n[x](#a-b-c) [y](docs) [z](https://example.org/b) [w](docs/glossary.md#g)\n",
        "# A\n# A\n[x](#a-1)\n```console\n# B\n$ b\n```\n",
    ],
)
def test_what_is_right_passes(tmp_path: Path, text: str) -> None:
    assert page(tmp_path, text) == (0, "words: 2 pages, none wrong\n")


def test_a_glossary_without_the_table_is_told(tmp_path: Path) -> None:
    page(tmp_path, "a")
    (tmp_path / "docs" / "glossary.md").write_text("# G\n")
    assert run("words", tmp_path) == (1, "docs/glossary.md: has no table 'say | not'\n")


def test_a_key_of_the_parameters_file_and_its_page_need_each_other(tmp_path: Path) -> None:
    config = tmp_path / "ros/rclrt_config"
    (config / "src").mkdir(parents=True)
    (config / "src/fields.cpp").write_text('map.duration("runtime"); map.word<A>("wait", words);\n')
    (config / "README.md").write_text("| field | a |\n|---|---|\n| `runtime`, `gone` | `b` |\n")
    where = "ros/rclrt_config/README.md: "
    taken = "which the reader of parameters files does not take"
    says = f"{where}does not name the key 'wait'\n{where}names 'gone', {taken}\n"
    assert page(tmp_path, "") == (1, says)


def test_the_policies_of_the_system_are_listed_once_and_in_the_formats_of_files() -> None:
    """A new one takes a row of attributes.hpp, and its number in a trace."""
    names = r'\b(?:SCHED|(?:RCLRT_)?POLICY)_(?!UNKNOWN)[A-Z]+\b|"(?:other|batch|idle|fifo|rr|ext)"'
    lists = []
    for top, suffix in itertools.product(("engine", "ros", "see"), ("?pp", "h", "py")):
        for path in sorted((ROOT / top).rglob(f"*.{suffix}")):
            if {"src", "include"} & set(path.relative_to(ROOT).parts):
                code = re.sub(r"(//|#).*", "", path.read_text(encoding="utf-8"))
                if len(set(re.findall(names, code))) > (3 if suffix == "py" else 2):
                    lists.append(path.name)
    assert lists == ["attributes.hpp", "record.h", "cie_file.cpp", "placements.py", "layout.py"]


ROSDEP = (ROOT / "tools/requirements/rosdep.txt").read_text(encoding="utf-8")


def test_rosdep_knows_every_key_that_our_packages_ask_for() -> None:
    lines = re.findall("^((?:[a-z]+ )*rolling): (.*)$", ROSDEP, re.M)
    known = {key: names.split() for names, keys in lines for key in keys.split()}
    packages = [ElementTree.parse(path) for path in ROOT.glob("*/*/package.xml")]
    ours = {package.findtext("name") for package in packages}
    asked = {e.text or "" for p in packages for e in p.iter() if e.tag.endswith("depend")}
    assert len(ours) > 10
    assert sorted(asked - ours) == sorted(known)
    for key, distributions in known.items():
        assert {"humble", "jazzy", "kilted"} <= set(distributions), key


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_what_ubuntu_has_is_new_enough() -> None:
    asked = [(ROOT / "pyproject.toml").read_text(encoding="utf-8"), ROSDEP]
    asked += [path.read_text(encoding="utf-8") for path in ROOT.glob("*/*/CMakeLists.txt")]
    pattern = r"(cmake)_minimum_required\(VERSION |requires-(python) = \">=|(\w+)>="
    found = re.findall(rf"(?:{pattern})(\d[\d.]*)", "\n".join(asked))
    wanted: dict[str, list[int]] = {}
    for *names, version in found:
        wanted["".join(names)] = max(wanted.get("".join(names), []), numbers(version))
    ubuntu = re.findall(r"^Ubuntu (2[24]\.04): (.*)$", ROSDEP, re.M)
    assert len(ubuntu) == 2
    for release, has in ubuntu:
        versions = dict(re.findall(r"(\w+) ([\d.]+)", has))
        assert {*versions} == {"cmake", "gcc", "jsonschema", "numpy", "python"}
        for name, version in versions.items():
            assert numbers(version) >= wanted[name], f"{name} of Ubuntu {release}"


@pytest.mark.skipif(Path("/opt/ros").exists(), reason="ROS 2 is below /opt/ros: it would build")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 1, "there is no ROS 2 below /opt/ros"),
        (["memory"], 2, "usage: "),
        (["thread", "x"], 2, "usage: "),
    ],
)
def test_the_script_for_images_of_ros_says_what_it_wants(
    arguments: list[str], status: int, said: str
) -> None:
    program = ROOT / "tools/in_ros_image.sh"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr


MUTATED = """// a < b is a comment
int sign(std::vector<int> list, int value)
{
  log("a < b");
  if (value < 0) {
    return -1;
  }
  return 1;
}
"""


def mutate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools/mutate.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_code_is_changed_but_no_comment_string_or_template(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(MUTATED)
    listed = mutate("--build", tmp_path, "--tests", "x", "--list", path).stdout.splitlines()
    assert listed == [
        "a.cpp:4: statement: ",
        "a.cpp:5: relation: if (value <= 0) {",
        "a.cpp:5: constant: if (value < 1) {",
        "a.cpp:5: condition: if (false) {",
        "a.cpp:5: condition: if (true) {",
        "a.cpp:6: constant: return -2;",
        "a.cpp:8: constant: return 2;",
    ]
    assert path.read_text() == MUTATED


def test_what_no_test_notices_survives_and_the_file_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("[ $1 -lt 5 ] && true\n[ 3 = 3 ] && true\n")
    # The "build" makes a program of the file; the test looks at its first line only.
    make = f"(echo '#!/bin/sh'; head -1 {path} | sed s/.1/4/) > {{test}}; chmod +x {{test}}"
    make = f"cd {tmp_path} && {make}"
    arguments = ("--build", tmp_path, "--tests", "program", "--make", make)
    result = mutate(*arguments, path)
    assert result.returncode == 1, result.stderr
    assert "| a.sh:2 | constant | `[ 3 = 3 ] && true` | `[ 4 = 3 ] && true` |" in result.stdout
    assert "a.sh:1: constant: [ $1 -lt 5 ] && false: program fails" in result.stderr
    assert path.read_text() == "[ $1 -lt 5 ] && true\n[ 3 = 3 ] && true\n"


def test_tests_that_fail_anyway_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(MUTATED)
    make = f"cd {tmp_path} && (echo '#!/bin/sh'; echo exit 1) > program && chmod +x program"
    result = mutate("--build", tmp_path, "--tests", "program", "--make", make, path)
    assert result.returncode == 2
    assert "without any change: program fails" in result.stderr


def test_what_passed_clang_tidy_is_looked_at_when_what_it_includes_has_changed(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/tidy.py", tmp_path / "tools")
    for name, text in {
        "one/a.cpp": '#include "x/b.hpp"\n',
        "one/other.cpp": "int other;\n",
        "x/b.hpp": " # include <c.hpp>\n",
        "x/c.hpp": "int c;\n",
        ".clang-tidy": "\n",
        "build/compile_commands.json": "[]",
        "tidy": '#!/bin/sh\nfor last; do :; done\necho "$last" >>log\n! grep -q bad "$last"\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tidy").chmod(0o755)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def looked_at() -> tuple[int, set[str]]:
        (tmp_path / "log").write_text("")
        options = ["--program", str(tmp_path / "tidy"), "--build", "build"]
        done = subprocess.run(
            [sys.executable, "tools/tidy.py", *options, "one/a.cpp", "one/other.cpp"],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            check=False,
        )
        return done.returncode, {Path(x).name for x in (tmp_path / "log").read_text().split()}

    assert looked_at() == (0, {"a.cpp", "other.cpp"})
    assert looked_at() == (0, set())
    (tmp_path / "x/c.hpp").write_text("int d;\n")
    assert looked_at() == (0, {"a.cpp"})
    (tmp_path / "one/other.cpp").write_text("bad\n")
    assert looked_at() == (1, {"other.cpp"})
    assert looked_at() == (1, {"other.cpp"})
