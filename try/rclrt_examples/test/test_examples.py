# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Each example shows what its README says; so do the two small programs beside the libraries.

Nothing here depends on how long something took, but on what came first.
"""

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rclpy
import yaml
from examples import (
    BUILD,
    HERE,
    SOURCE,
    Job,
    clean_environment,
    kept_for_the_picture,
    needs_real_time,
    program,
    run,
)
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32, String

sys.path.insert(0, str(SOURCE / "micro/rclrt_agent/test"))
from ros_bench import Bench

RCLRT = [sys.executable, "-m", "rclrt_tools.cli"]
PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23
# What an example starts that is no program of its own.
OTHERS = {("rclrt_agent", "rclrt_agent"), ("rclrt_rclcpp", "component_container_rt")}


def with_file(name: str, file: str = "priorities.yaml") -> list[str | Path]:
    """Return the command of an example under the parameters file in its folder."""
    return [program(name), "--ros-args", "--params-file", HERE / name / file]


def overtakes(urgent: list[Job], slow: list[Job], at_least: int) -> None:
    """Check that no urgent job waited for a slow one in the middle of which it was released."""
    pairs = [(one, other) for one in urgent for other in slow if one.in_the_middle_of(other)]
    waited = [(one, other) for one, other in pairs if one.end > other.end]
    assert not waited, f"{len(waited)} of {len(pairs)}: {waited[:3]}"
    assert len(pairs) >= at_least, len(pairs)
    # If both were the same, the thread that ran the publisher would go on with the urgent job, too.
    assert min(job.priority for job in urgent) > max(job.priority for job in slow)


def started_within(jobs: list[Job], other: Job) -> int:
    return sum(other.start < job.start < other.end for job in jobs)


def test_obstacle_stop_answers_scans_in_the_middle_of_an_image(tmp_path: Path) -> None:
    needs_real_time()
    scan, image = "/brake/subscription/scan", "/perception/subscription/image"
    ran = run(with_file("obstacle_stop"), {scan: 60, image: 12}, tmp_path)
    overtakes(ran.jobs[scan], ran.jobs[image], at_least=5)
    told = re.search(r"\d+ scans, (\d+) of them in the middle of an image\n", ran.printed)
    assert told, ran.printed
    assert int(told[1]) >= 5


def test_two_cameras_of_two_waiting_images_the_front_one_is_first(tmp_path: Path) -> None:
    needs_real_time()
    front, rear = "/detector/subscription/front/image", "/detector/subscription/rear/image"
    ran = run(with_file("two_cameras"), {front: 30, rear: 30}, tmp_path)
    told = re.search(
        r"(\d+) images of the front camera, (\d+) of them after the rear one\n", ran.printed
    )
    assert told, ran.printed
    assert int(told[1]) >= 30
    assert int(told[2]) <= 1  # The first: its camera may not have found the detector yet.


def test_runaway_lets_the_robot_steer_when_its_budget_is_used_up(tmp_path: Path) -> None:
    needs_real_time()
    steer, detect = "/steering/timer/10ms", "/detector/subscription/image"
    ran = run(with_file("runaway", "budget.yaml"), {steer: 100, detect: 17}, tmp_path)
    for runaway in ran.jobs[detect][7::8]:
        assert started_within(ran.jobs[steer], runaway) >= 10
    told = re.search(
        r"(\d+) runaways, the budget was not enough in (\d+) periods; steering waited for 0 ",
        ran.printed,
    )
    assert told, ran.printed
    assert int(told[2]) >= int(told[1]) >= 2


def test_proved_chain_runs_as_planned_and_is_watched(tmp_path: Path) -> None:
    needs_real_time()
    plan, ours = tmp_path / "plan.yaml", "/**"
    made = subprocess.run(
        [*RCLRT, "plan", HERE / "proved_chain/robot.yaml", "-o", plan],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.stdout.startswith("PROVED: all"), made.stdout + made.stderr
    command = [program("proved_chain"), "--ros-args", "--params-file", plan]
    brake = "/brake/subscription/objects"
    ran = run(command, {brake: 30, "/logger/timer/200ms": 8}, tmp_path / "planned")
    entries = yaml.safe_load(plan.read_text("utf-8"))[ours]["ros__parameters"]["rclrt"]
    for name, entry in entries["callbacks"].items():
        seen = {(job.policy, job.priority) for job in ran.jobs[name]}
        assert seen == {(entry["scheduling_policy"], entry["priority"])}, name
    images = re.search(r"see_and_brake: (\d+) images, .* bound ([\d.]+) ms, ", ran.printed)
    assert images, ran.printed
    assert 20 <= int(images[1]) <= len(ran.jobs[brake])
    bound = entries["chains"]["see_and_brake"]["bound"]
    assert float(images[2]) == pytest.approx(float(bound.removesuffix("ms")), abs=0.06)

    slow = run([*command, "-p", "detect_ms:=30"], {brake: 10}, tmp_path / "slow")
    assert slow.printed.endswith(", no longer proved\n"), slow.printed


def test_emergency_stop_overtakes_the_reports_that_wait_for_the_line() -> None:
    board = program("emergency_stop")
    came: list[tuple[int, str, int]] = []
    bench = Bench()
    try:
        qos = QoSProfile(depth=200)
        for kind, topic in ((Int32, "stop"), (String, "motors")):
            bench.node.create_subscription(
                kind,
                topic,
                lambda message, info, topic=topic: came.append(
                    (info["source_timestamp"], topic, int(message.data))
                ),
                qos,
            )
        settings = HERE / "emergency_stop/agent.yaml"
        bench.start_agent("serial", "-b", "115200", "--ros-args", "--params-file", str(settings))
        bench.start(str(board), bench.wire.ends[1])
        assert bench.until(lambda: sum(topic == "stop" for _, topic, _ in came) >= 4)
        last = max(number for _, topic, number in came if topic == "stop")
        assert bench.until(lambda: ("motors", last) in {(topic, n) for _, topic, n in came})
    finally:
        bench.close()
    came.sort()
    if folder := kept_for_the_picture("emergency_stop"):
        folder.mkdir(parents=True)
        of_line = [(topic, at, 24 if topic == "stop" else 208) for at, topic, _ in came]
        (folder / "line.json").write_text(json.dumps(of_line), encoding="utf-8")
    stops = [(number, at) for at, (_, topic, number) in enumerate(came) if topic == "stop"]
    for number, at in stops:
        later = {report for _, topic, report in came[at:] if topic == "motors"}
        assert any(report < number for report in later), (number, came[at : at + 5])


def test_fast_control_goes_on_while_the_service_works(tmp_path: Path) -> None:
    needs_real_time()
    control, plan = "/controller/timer/1ms", "/planner/service/plan"
    ran = run(with_file("fast_control"), {control: 1000, plan: 8}, tmp_path)
    for request in ran.jobs[plan]:
        assert started_within(ran.jobs[control], request) >= 10
    assert {job.priority for job in ran.jobs[control]} == {80}
    assert "planned; " in ran.printed


@pytest.mark.parametrize("name", sorted(path.parent.name for path in HERE.glob("*/package.xml")))
def test_a_launch_file_starts_what_is_installed_with_what_is_installed(name: str) -> None:
    installed = (HERE / name / "CMakeLists.txt").read_text(encoding="utf-8")
    (files,) = re.findall(
        r"install\(FILES ([^)]*) DESTINATION share/\$\{PROJECT_NAME\}\)", installed
    )
    assert f"project({name} " in installed
    assert f"{name}.launch.xml" in files
    launched = (HERE / name / f"{name}.launch.xml").read_text(encoding="utf-8")
    started = {
        (one.get("pkg"), one.get("exec"))
        for one in ElementTree.fromstring(launched).iter()
        if one.tag in {"node", "node_container"}
    }
    assert started <= {(name, name), *OTHERS}
    assert started <= OTHERS or f"install(TARGETS {name} " in installed
    for file in re.findall(rf"\$\(find-pkg-share {name}\)/([\w.]+)", launched):
        assert (HERE / name / file).exists()
        assert file in files.split()
    manifest = ElementTree.parse(HERE / name / "package.xml")
    depends = {one.text for one in manifest.iter() if one.tag.endswith("depend")}
    assert {"ros2launch", *(package for package, _ in started if package != name)} <= depends


def test_stock_robot_is_made_real_time_without_a_rebuild(tmp_path: Path) -> None:
    needs_real_time()
    robot = program("stock_robot")
    file = HERE / "stock_robot/priorities.yaml"
    brake, plan = "/driver/subscription/scan", "/driver/timer/100ms"
    command = [*RCLRT, "run", "--params", file, "--", robot]
    ran = run(command, {brake: 60, plan: 12}, tmp_path, dict(os.environ))
    overtakes(ran.jobs[brake], ran.jobs[plan], at_least=5)
    assert {(job.policy, job.priority) for job in ran.jobs[brake]} == {("fifo", 60)}


def load(components: list[dict[str, str]]) -> None:
    """Ask the container for components, as `ros2 launch` does."""
    services = pytest.importorskip("composition_interfaces.srv")
    rclpy.init()
    node = rclpy.create_node("launch")
    try:
        client = node.create_client(services.LoadNode, "/robot/_container/load_node")
        assert client.wait_for_service(60)
        for one in components:
            asked = services.LoadNode.Request(
                package_name=one["pkg"], plugin_name=one["plugin"], node_name=one["name"]
            )
            answer = client.call_async(asked)
            rclpy.spin_until_future_complete(node, answer, timeout_sec=60)
            assert answer.done()
            assert answer.result().success, answer.result().error_message
    finally:
        node.destroy_node()
        rclpy.shutdown()


def test_composed_robot_brakes_while_its_neighbour_computes(tmp_path: Path) -> None:
    needs_real_time()
    library = program("composed_robot", "libcomposed_robot.so")
    (robot,) = ElementTree.parse(HERE / "composed_robot/composed_robot.launch.xml").iter(
        "node_container"
    )
    components = [one.attrib for one in robot.iter("composable_node")]
    (parameters,) = (
        one.attrib["from"].removeprefix("$(find-pkg-share composed_robot)/")
        for one in robot.iter("param")
    )
    index = tmp_path / "share/ament_index/resource_index/rclcpp_components/composed_robot"
    index.parent.mkdir(parents=True)
    index.write_text("".join(f"{one['plugin']};{library}\n" for one in components), "utf-8")
    environment = clean_environment()
    environment["AMENT_PREFIX_PATH"] = f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}"
    container = BUILD / robot.attrib["pkg"] / robot.attrib["exec"]
    command = [container, "--ros-args", "-r", f"__node:={robot.attrib['name']}"]
    command += ["--params-file", HERE / "composed_robot" / parameters]
    brake, mapper = "/brake/subscription/scan", "/mapper/timer/100ms"
    wants = {brake: 60, mapper: 12}
    ran = run(command, wants, tmp_path / "traces", environment, lambda: load(components))
    overtakes(ran.jobs[brake], ran.jobs[mapper], at_least=5)


def give_up_real_time() -> None:
    """Take the right to real-time priorities from this process and from what it executes."""
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) == 0, os.strerror(
            ctypes.get_errno()
        )


def run_first_node(before: Callable[[], None] | None = None) -> tuple[list[str], str]:
    """Let it tick three times; return these lines, and what else it wrote."""
    terminal, its_end = os.openpty()  # to a terminal, a program writes line by line
    with (
        os.fdopen(terminal) as output,
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [BUILD / "rclrt_rcl/first_node"],
            stdout=its_end,
            stderr=log,
            env=clean_environment(),
            preexec_fn=before,
        ) as node,
    ):
        os.close(its_end)
        lines = [output.readline() for _ in range(3)]
        node.send_signal(signal.SIGINT)
        assert node.wait(timeout=30) == 0
        log.seek(0)
        return lines, log.read()


def test_first_node_ticks_until_it_is_interrupted() -> None:
    lines, _ = run_first_node()
    assert all(line.startswith("tick ") for line in lines)


def test_first_node_without_the_permission_says_what_is_refused_and_what_helps() -> None:
    lines, log = run_first_node(give_up_real_time)
    assert all(line.startswith("tick ") for line in lines)
    told = [line for line in log.splitlines() if "[WARN]" in line and "[rclrt]" in line]
    assert len([line for line in told if "RLIMIT_RTPRIO" in line]) == 1, f"one cause: {log}"
    assert log.count("Operation not permitted") <= 1, log
    assert log.count("Add the line '@realtime - rtprio 99'") == 1, log
    assert len(told) == len({line.partition("[rclrt]")[2] for line in told}), "each once"


def test_virtual_time_prints_what_its_source_says() -> None:
    virtual_time = BUILD / "rclrt_core/virtual_time"
    done = subprocess.run([virtual_time], capture_output=True, text=True, check=True, timeout=30)
    source = (SOURCE / "engine/rclrt_core/example/virtual_time.cpp").read_text(encoding="utf-8")
    assert done.stdout.count("\n") == 6
    assert "".join(f"//   {line}\n" for line in done.stdout.splitlines()) in source
