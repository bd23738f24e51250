# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt` promises about its arguments, and that it installs only what is missing.

Each test runs a copy of the script in a tree of its own, with the verbs of this one, and stand-ins
for the programs that would install or build. The stand-ins write down how they were called.
"""

import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "see/rclrt_tools/src/rclrt_tools"

# A venv is a folder with a python3 and a pip; anything else that is asked of it succeeds. The
# system's Python checks arguments.
FAKE_PYTHON = f"""#!/bin/sh
case "$1" in -I) ;; *) echo "imports from the current folder" && exit 1 ;; esac
case "$0 $2" in */bin/bin/python3\\ */start.py) exec {sys.executable} "$@" ;; esac
echo "python3 $*" >>"$CALLS"
if [ "$1 $2 $3" = "-I -m venv" ]; then
  for folder; do :; done
  mkdir -p "$folder/bin" && ln -s "$0" "$folder/bin/python3"
  echo "#!$folder/bin/python3" >"$folder/bin/pip"
fi
"""
FAKE_CMAKE = """#!/bin/sh
echo "cmake $*" >>"$CALLS"
while [ $# -gt 0 ]; do
  if [ "$1" = -B ]; then mkdir -p "$2" && touch "$2/build.ninja"; fi
  shift
done
"""
FAKE_NINJA = """#!/bin/sh
echo "ninja $*" >>"$CALLS"
echo "ninja: no work to do."
"""
# All but the names in $MISSING are installed, and the distribution has all but those in $UNKNOWN.
FAKE_DPKG = """#!/bin/sh
for name; do
  case "$name ${MISSING:-} " in -*) ;; *" $name "*) ;; *) echo "$name installed" ;; esac
done
"""
FAKE_APT_CACHE = """#!/bin/sh
for name; do
  case "$name ${UNKNOWN:-} show " in -*) ;; *" $name "*) ;; *) echo "Package: $name" ;; esac
done
"""
FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
exit "${STATUS:-0}"
"""


class Tree:
    """A copy of the script among stand-ins for everything it calls."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.bin = folder / "bin" / "bin"
        self.calls_file = folder / "calls"
        self.root.mkdir()
        self.bin.mkdir(parents=True)
        shutil.copytree(ROOT / "tools/requirements", self.root / "tools/requirements")
        for package in ("prove/rclrt_analysis", "see/rclrt_tools", "try/rclrt_benchmarks"):
            (self.root / package).parent.mkdir()
            (self.root / package).symlink_to(ROOT / package)
        script = (ROOT / "rclrt").read_text()
        (self.root / "rclrt").write_text(script.replace("/usr/bin/python3", f"{self.bin}/python3"))
        (self.root / "rclrt").chmod(0o755)
        for name, text in {
            "python3": FAKE_PYTHON,
            "cmake": FAKE_CMAKE,
            "ninja": FAKE_NINJA,
            "dpkg-query": FAKE_DPKG,
            "ctest": FAKE,
            "apt-get": FAKE,
            "apt-cache": FAKE_APT_CACHE,
            "sleep": FAKE,
        }.items():
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(
        self, *arguments: str, user: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        self.calls_file.write_text("")
        inherited = {key: value for key, value in os.environ.items() if key != "AMENT_PREFIX_PATH"}
        return subprocess.run(
            [self.root / "rclrt", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            user=user,
            env={
                **inherited,
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "CALLS": str(self.calls_file),
                **environment,
            },
        )

    def calls(self, program: str) -> list[str]:
        lines = self.calls_file.read_text().splitlines()
        return [line for line in lines if line.startswith(f"{program} ")]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["build", "-R", "x"], ["demo", "--nonsense"]])
def test_wrong_arguments_print_the_usage_and_exit_with_2(tree: Tree, arguments: list[str]) -> None:
    result = tree.run(*arguments)
    assert result.returncode == 2
    assert "usage: ./rclrt" in result.stderr
    assert result.stdout + tree.calls_file.read_text() == ""
    assert not (tree.root / ".rclrt").exists()


def test_the_script_of_this_tree_gives_help_of_every_verb() -> None:
    for words in (["help"], ["bench", "--help"], ["scx", "--help"], ["observe", "-h", "--", "x"]):
        done = subprocess.run(
            [ROOT / "rclrt", *words], capture_output=True, text=True, check=True, timeout=60
        )
        assert "usage: " in done.stdout and not done.stderr
        if words == ["help"]:
            verbs = {path.stem for path in (TOOLS / "commands").glob("[a-z]*")}
            assert set(re.findall(r"^    (\w+) +\S", done.stdout, re.M)) == verbs
            assert len(verbs) == 15
            assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("words", [["scx"], ["scx", "help"], ["scx", "--help"]])
def test_to_ask_for_help_of_the_scheduler_builds_nothing(tree: Tree, words: list[str]) -> None:
    result = tree.run(*words)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Verbs: load, unload, " in result.stdout
    assert not (tree.root / ".rclrt").exists()


def test_what_a_folder_of_the_user_has_is_not_imported(tmp_path: Path) -> None:
    for name in ("argparse", "jsonschema", "rclrt_analysis", "rclrt_tools", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    for path in ("", ":", f"/nowhere:.:{os.environ.get('PYTHONPATH', '')}"):
        done = subprocess.run(
            [ROOT / "rclrt", "--version"], capture_output=True, text=True, check=False,
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    # What is imported only when the verb runs; `background` starts a Python of its own, too.
    start = TOOLS / "start.py"
    model = ROOT / "try/rclrt_scenarios" / "models" / "autoware_reference_system.yaml"
    done = subprocess.run(
        [sys.executable, "-I", start, "analyze", model],
        capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ":", "RCLRT_SOURCE_DIR": str(ROOT)},
    )  # fmt: skip
    assert "chain" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "verb", ["demo", "bench table-1", "analyze m", "trace order t", "trace info t", "demo --help"]
)
def test_arguments_are_read_by_a_python_that_has_nothing_installed(verb: str) -> None:
    start = [sys.executable, "-I", "-S", str(TOOLS / "start.py"), "--check"]
    done = subprocess.run([*start, *verb.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("verb", "lists", "targets"),
    [
        ("analyze m", ["run"], None),
        ("watch m", ["run"], "rclrt_watch"),
        ("bench waters", ["run"], None),
        ("bench memory", ["run", "ros"], "rclrt_programs"),
        ("demo", ["run", "ros"], "rclrt_reference_system"),
        ("build", ["run", "ros", "test"], ""),
    ],
)
def test_a_verb_takes_what_it_needs_and_no_more(
    tree: Tree, verb: str, lists: list[str], targets: str | None
) -> None:
    (tree.root / "build").mkdir()
    (tree.root / "build" / ".tests").touch()  # Somebody has run the tests before.
    result = tree.run(*verb.split(), MISSING="g++ cmake clang-16" if targets is None else "")
    assert result.returncode == 0, result.stderr
    assert [c[c.index(".rclrt/") + 7 : -4] for c in tree.calls("python3") if "-m pip" in c] == lists
    assert not tree.calls("apt-get")
    build = [f"ninja -C {tree.root}/build -n {targets}".strip()] if targets is not None else []
    assert tree.calls("ninja") == build
    assert len(tree.calls("cmake")) == len(build)


def test_a_watch_builds_nothing_of_ros_and_takes_a_build_that_has_it(tree: Tree) -> None:
    for verb, packages in (("watch m", [4]), ("watch m", []), ("demo", [0]), ("watch m", [])):
        result = tree.run(*verb.split())
        assert result.returncode == 0, result.stderr
        named = [call.partition("RCLRT_PACKAGES=")[2] for call in tree.calls("cmake")]
        assert [names.count("/") for names in named] == packages


def test_a_verb_waits_for_nothing_that_it_does_not_need(tree: Tree) -> None:
    assert tree.run("analyze", "m").returncode == 0
    state = tree.root / ".rclrt"
    locks = []
    for name in ("python", "scx", "build"):  # Others install, fetch and build.
        locks.append((state / f"lock-{name}").open("w"))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
    result = tree.run("analyze", "m")
    assert (result.returncode, result.stderr) == (0, "")


def test_whoever_waits_is_told_for_what(tree: Tree) -> None:
    tree.run("build")
    with (tree.root / ".rclrt" / "lock-build").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("./rclrt test (process 7)")
        lock.flush()
        flock = '#!/bin/sh\n[ "$1" = -n ] && exit 1\nexit 0\n'
        tree.program("flock", flock)  # Which has waited at once.
        result = tree.run("demo")
    assert "waiting for ./rclrt test (process 7), which builds in build\n" in result.stderr


def test_without_a_python_help_names_the_verbs(tree: Tree) -> None:
    (tree.bin / "python3").unlink()
    for name in ("bash", "dirname"):
        (tree.bin / name).symlink_to(f"/usr/bin/{name}")
    result = tree.run("help", PATH=str(tree.bin))
    assert result.returncode == 0, result.stderr
    assert "analyze" in result.stdout and "there is no python3 yet" in result.stdout


LOCKED = """#!/bin/sh
echo "apt-get $*" >>"$CALLS"
[ "$(grep -c apt-get "$CALLS")" -gt 3 ] && exit 0
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (unattended-upgr)"
exit 100
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize("ends", [True, False])
def test_while_another_program_has_apt_it_waits_and_says_so_once(tree: Tree, ends: bool) -> None:
    script = (tree.root / "rclrt").read_text()
    assert "tries++ < 300" in script
    (tree.root / "rclrt").write_text(script.replace("tries++ < 300", "tries++ < 4"))
    tree.program("apt-get", LOCKED if ends else LOCKED.replace("-gt 3", "-gt 99"))
    result = tree.run("build", MISSING="ninja-build")
    assert result.stderr.count("==> apt is in use by process 12 (unattended-upgr): waiting") == 1
    if ends:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode == 1
        assert len(tree.calls("sleep")) == 4
        assert result.stderr.endswith("ten minutes: start again when it has ended\n")


OFFLINE = {
    "apt-get": "E: Failed to fetch http://x/y.deb  Temporary failure resolving 'x'",
    "pip": "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize("program", OFFLINE)
def test_without_a_network_it_says_so_in_one_sentence(tree: Tree, program: str) -> None:
    fails = f'#!/bin/sh\necho "{OFFLINE[program]}"\nexit 1\n'
    if program == "pip":
        fails = (
            FAKE_PYTHON + 'case "$*" in *"pip install"*)' + fails.partition("\n")[2] + ";; esac\n"
        )
    tree.program("python3" if program == "pip" else program, fails)
    result = tree.run("build", MISSING="ninja-build" if program == "apt-get" else "")
    assert result.returncode == 1
    assert "./rclrt: no network: the " in result.stderr
    assert "Connect this machine" in result.stderr
    assert OFFLINE[program] not in result.stderr


def test_a_path_that_ros_cannot_build_in_is_said_before_anything_is_installed(tree: Tree) -> None:
    tree.root = tree.root.rename(tree.root.with_name("Bäume und Häuser"))
    result = tree.run("build")
    assert result.returncode == 1
    assert "has a letter that is not ASCII" in result.stderr
    assert not tree.calls_file.read_text()
    assert tree.run("analyze", "m").returncode == 0  # It builds nothing.


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_takes_what_is_there_and_is_told_what_is_not(
    request: pytest.FixtureRequest,
) -> None:
    nobody = pwd.getpwnam("nobody")
    for path in (ROOT / "rclrt", sys.executable):
        if subprocess.run(["test", "-r", path], user=nobody.pw_uid, check=False).returncode != 0:
            pytest.skip(f"another user may not read {path}")
    # pytest's own folder is closed to others again whenever another pytest begins.
    folder = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    tree = Tree(folder)
    tree.calls_file.touch()
    tree.calls_file.chmod(0o666)
    said = "nobody may not write {} (of {}), where ./rclrt {} has something to set up: "

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return tree.run(*words, user=nobody.pw_uid)

    first = run("analyze", "m")
    assert first.returncode == 1
    assert said.format(tree.root, "root", "analyze") + "let root run" in first.stderr
    assert first.stderr.count("\n") == 1
    os.chown(tree.root, nobody.pw_uid, -1)
    tree.root.chmod(0o555)
    assert said.format(tree.root, "nobody", "analyze") + "clone" in run("analyze", "m").stderr
    tree.root.chmod(0o755)
    assert tree.run("demo").returncode == 0
    for verb in ("analyze m", "demo"):
        assert (run(*verb.split()).returncode, run(*verb.split()).stderr) == (0, "")
    taken_back = f"take it back (sudo chown -R nobody {tree.root}/.rclrt)"
    assert said.format(tree.root / ".rclrt", "root", "build") + taken_back in run("build").stderr


def test_a_signal_to_the_script_ends_the_python_it_runs(tree: Tree) -> None:
    python = FAKE_PYTHON + '[ "$3" = demo ] && echo $$ && exec /bin/sleep 60\nexit 0\n'
    tree.program("python3", python)
    environment = dict(os.environ, PATH=f"{tree.bin}:{os.environ['PATH']}")
    environment.pop("AMENT_PREFIX_PATH", None)
    environment["CALLS"] = str(tree.calls_file)
    with subprocess.Popen(
        [tree.root / "rclrt", "demo"], stdout=subprocess.PIPE, text=True, env=environment
    ) as script:
        assert script.stdout is not None
        assert int(script.stdout.readline()) == script.pid
        script.send_signal(signal.SIGTERM)
        assert script.wait(timeout=30) == -signal.SIGTERM


def test_a_moved_tree_gets_a_new_python_environment(tree: Tree) -> None:
    tree.run("build")
    tree.root = tree.root.rename(tree.root.with_name("moved"))
    assert tree.run("build").returncode == 0
    assert len([call for call in tree.calls("python3") if "-m venv" in call]) == 1


def test_a_second_start_installs_and_configures_nothing(tree: Tree) -> None:
    first = tree.run("build")
    assert first.returncode == 0, first.stderr
    assert len(tree.calls("cmake")) == 1
    assert any("-m pip install" in call for call in tree.calls("python3"))
    second = tree.run("build")
    assert second.returncode == 0
    assert second.stderr == ""
    assert tree.calls_file.read_text() == f"ninja -C {tree.root}/build -n\n"


def test_changed_requirements_are_installed_again(tree: Tree) -> None:
    tree.run("build")
    with (tree.root / "tools/requirements" / "run.txt").open("a") as file:
        file.write("another==1.0\n")
    result = tree.run("build")
    assert result.returncode == 0
    assert len([call for call in tree.calls("python3") if "run.txt" in call]) == 1
    assert not [call for call in tree.calls("python3") if "ros.txt" in call]


def test_wheels_of_ros_are_those_that_they_were_or_the_remedy_is_told(tree: Tree) -> None:
    text = (ROOT / "tools/requirements/ros.txt").read_text(encoding="utf-8")
    packages = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(packages) > 100
    assert [line for line in packages if "==" not in line or " --hash=sha256:" not in line] == []
    fails = '*"pip install"*ros.txt*) echo "THESE PACKAGES DO NOT MATCH THE HASHES"; exit 1 ;;'
    tree.program("python3", FAKE_PYTHON + f'case "$*" in {fails} esac\n')
    result = tree.run("build")
    assert result.returncode == 1
    assert "DO NOT MATCH" in result.stderr
    assert "source a ROS 2 installation instead" in result.stderr


def test_a_sourced_ros_is_used_instead_of_the_one_from_pypi(tree: Tree, tmp_path: Path) -> None:
    config = tmp_path / "ros" / "share" / "rcl" / "cmake" / "rclConfig.cmake"
    config.parent.mkdir(parents=True)
    config.touch()
    result = tree.run("build", AMENT_PREFIX_PATH=f"/nowhere:{tmp_path}/ros")
    assert result.returncode == 0, result.stderr
    assert not [call for call in tree.calls("python3") if "ros.txt" in call]
    assert f"{tree.root}/.rclrt/venv-sourced" in tree.calls("cmake")[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
def test_root_installs_exactly_the_missing_packages(tree: Tree) -> None:
    result = tree.run("build", MISSING="ninja-build")
    assert result.returncode == 0, result.stderr
    assert tree.calls("apt-get")[-1] == ("apt-get install -y --no-install-recommends ninja-build")


OLD = "clang-16 libclang-rt-16-dev"
NEW = "clang-19 libclang-rt-19-dev"
OTHERS = "clang-18 libclang-rt-18-dev clang-17 libclang-rt-17-dev"


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize(
    ("unknown", "installed"),
    [("", OLD), (OLD, NEW), ("libclang-rt-16-dev", NEW), (f"{OLD} {NEW} {OTHERS}", OLD)],
    ids=["all", "the newer", "half of the older", "none, so that apt-get names the first"],
)
def test_of_alternatives_the_first_that_the_distribution_has_is_installed(
    tree: Tree, unknown: str, installed: str
) -> None:
    result = tree.run("build", MISSING=f"{OLD} {NEW} {OTHERS}", UNKNOWN=unknown)
    assert result.returncode == 0, result.stderr
    assert tree.calls("apt-get") == [
        "apt-get update",
        f"apt-get install -y --no-install-recommends {installed}",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize(
    ("missing", "installed"),
    [
        (f"{OLD} {OTHERS}", []),
        (f"clang-16 {NEW} {OTHERS}", ["clang-16"]),
    ],
    ids=["a later one whole", "half of one"],
)
def test_an_installed_alternative_will_do(tree: Tree, missing: str, installed: list[str]) -> None:
    result = tree.run("build", MISSING=missing)
    assert result.returncode == 0, result.stderr
    command = "apt-get install -y --no-install-recommends "
    assert tree.calls("apt-get")[1:] == [command + name for name in installed]


def test_without_root_the_exact_line_is_printed(tree: Tree) -> None:
    tree.program("id", "#!/bin/sh\necho 1000\n")
    tree.program("sudo", "#!/bin/sh\nexit 1\n")
    result = tree.run("build", MISSING="ninja-build")
    assert result.returncode == 1
    assert (
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ninja-build\n"
        in result.stderr
    )
    assert tree.calls("apt-get") == []


def test_a_failed_installation_shows_its_output_and_is_tried_again(tree: Tree) -> None:
    tree.program("cmake", "#!/bin/sh\necho no compiler found\nexit 1\n")
    result = tree.run("build")
    assert result.returncode == 1
    assert "no compiler found" in result.stderr
    tree.program("cmake", FAKE_CMAKE)
    assert tree.run("build").returncode == 0
    assert len(tree.calls("cmake")) == 1


def test_what_takes_long_says_what_it_does_and_how_long_it_took(tree: Tree) -> None:
    script = (tree.root / "rclrt").read_text()
    assert "\nnews_s=15\n" in script
    (tree.root / "rclrt").write_text(script.replace("\nnews_s=15\n", "\nnews_s=1\n"))
    said = "0 upgraded, 2 newly installed, \nNeed to get 31 MB of archives.\nGet:1\nGet:2\nGet ROS"
    tree.program("cmake", FAKE_CMAKE + f'echo "{said}"; exec /usr/bin/sleep 3\n')
    result = tree.run("build")
    assert result.returncode == 0, result.stderr
    assert "==>   to fetch: 31 MB of archives.\n" in result.stderr
    told = re.search("==>   ([12]) s, about (.) s left: Get ROS\n", result.stderr)
    assert told and int(told[2]) == 2 * int(told[1]), result.stderr  # Two of six steps are done.
    assert re.search("==>   it took [3-9] s\n", result.stderr)


def test_the_regular_expressions_reach_ctest_and_its_status_comes_back(tree: Tree) -> None:
    result = tree.run("test", "--sanitize", "address", "-R", "so.*", "-E", "b", STATUS="8")
    assert result.returncode == 8
    assert tree.calls("ctest")[0].endswith("-R so.* -E b")
    assert "-DRCLRT_SANITIZE=address" in tree.calls("cmake")[0]
    assert "build-address" in tree.calls("ctest")[0]


def test_the_first_tier_builds_and_runs_nothing_of_the_second(tree: Tree) -> None:
    assert tree.run("test").returncode == 0
    assert tree.calls("ctest")[0].endswith("-LE ^machine$")
    assert tree.calls("ninja")[0].endswith("rclrt_tests")
    fetch = tree.root / "kernel/rclrt_scx/tools/fetch_kernels.sh"
    fetch.parent.mkdir(parents=True)
    fetch.write_text('#!/bin/sh\nmkdir -p "$1"\n')
    fetch.chmod(0o755)
    assert tree.run("test", "--machine").returncode == 0
    assert "machine$" not in tree.calls("ctest")[-1]
    assert len(tree.calls("cmake")) == 1, "it looks for what was fetched"
    assert tree.run("test", "--machine").returncode == 0
    assert tree.calls("cmake") == []


def test_the_reason_of_a_skip_is_printed_and_the_summary_last(tree: Tree) -> None:
    tree.run("build")
    summary = tree.root / "build" / "Testing" / "summary.log"
    log = tree.root / "build" / "Testing" / "Temporary" / "LastTest.log"
    log.parent.mkdir(parents=True)
    summary.write_text("100% tests passed, 0 tests failed out of 2\n\nTotal Test time\n")
    log.write_text(
        "1/2 Test: core.test_a\n[ RUN      ] Suite.a_test\nfile.cpp:3: Skipped\nno permission\n\n"
        "2/2 Test: tools\nSKIPPED [1] test_x.py:7: needs root\n"
    )
    result = tree.run("test")
    assert result.returncode == 0
    assert "skipped core.test_a.Suite.a_test: no permission\n" in result.stdout
    assert "skipped [1] test_x.py:7: needs root\n" in result.stdout
    assert result.stdout.endswith("100% tests passed, 0 tests failed out of 2\n")
