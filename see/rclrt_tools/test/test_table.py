# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from rclrt_tools.reference.executors import EXECUTORS
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.table import WIDTH, group_findings, make_table
from reports import callback, report


def measured(executor: str, latencies_ms: list[float], **more: object) -> Measurement:
    measurement = Measurement(executor)
    measurement.add([report(latencies_ms, [callback("A", lost=3)], **more)])  # type: ignore[arg-type]
    return measurement


def test_every_line_fits_into_100_columns() -> None:
    finding = {"subject": "machine", "what": "word " * 50, "errno": 1, "fix": "more words " * 30}
    rows = [measured(name, [12345.678] * 100, findings=[finding]) for name in EXECUTORS]
    rows.append(Measurement("static", failure="a very long story\n" + "x" * 300))
    text = make_table("title " * 40, rows, ["note " * 50])
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_a_row_has_the_figures() -> None:
    text = make_table("t", [measured("preemptive", [8.0] * 99 + [9.5])], [])
    row = next(line for line in text.splitlines() if line.startswith("preemptive"))
    assert row.split() == [
        *["preemptive", "quiet", "100", "8.00", "8.00", "9.50", "3", "0", "40", "60", "other"]
    ]


def test_a_percentile_without_enough_samples_is_a_dash() -> None:
    text = make_table("t", [measured("preemptive", [8.0] * 99)], [])
    row = next(line for line in text.splitlines() if line.startswith("preemptive"))
    assert row.split()[2:6] == ["99", "8.00", "-", "8.00"]


def test_a_row_whose_attributes_were_refused_is_marked() -> None:
    text = make_table("t", [measured("preemptive", [8.0], attributes_in_force=False)], [])
    assert "other REFUSED" in text


def test_an_executor_that_failed_says_so_in_its_row() -> None:
    text = make_table("t", [Measurement("static", failure="line 1\nit broke")], [])
    assert "static                quiet failed: it broke" in text


def test_findings_with_the_same_remedy_are_one() -> None:
    findings = [
        {"subject": f"callback {i}", "what": "refused", "errno": 1, "fix": "ask root"}
        for i in range(5)
    ]
    rows = [measured(name, [8.0], findings=findings) for name in ("isolated", "preemptive")]
    assert group_findings(rows) == [
        "callback 0: refused. ask root. And 4 more with this remedy. (isolated, preemptive)"
    ]
