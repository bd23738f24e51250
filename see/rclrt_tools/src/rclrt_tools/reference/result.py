# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a demo as JSON, schema 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.statistics import quantiles

SCHEMA = 1


def finding_text(finding: Mapping[str, Any]) -> str:
    """Return a finding as one line."""
    text = f"{finding['subject']}: {finding['what']}"
    return f"{text}. {finding['fix']}" if finding["fix"] else text


def rounded(value: float | None) -> float | None:
    """Return milliseconds to the microsecond."""
    return None if value is None else round(value, 3)


def run_entry(measurement: Measurement, ideal_ms: float | None) -> dict[str, Any]:
    """Return one executor's part. A percentile without enough samples is null."""
    findings = [finding_text(finding) for finding in measurement.findings]
    if measurement.failure:
        findings.append(f"failed: {measurement.failure}")
    if measurement.without_room:
        findings.append(f"{measurement.without_room} samples were not kept: the logs were full")
    return {
        "executor": measurement.executor,
        "load": measurement.load,
        "policy": measurement.policy,
        "hot_path_ms": {
            "n": len(measurement.latency_ms),
            "p50": rounded(measurement.percentile(0.50)),
            "p90": rounded(measurement.percentile(0.90)),
            "p99": rounded(measurement.percentile(0.99)),
            "max": rounded(measurement.max_ms),
            "ideal": rounded(ideal_ms),
            "quantiles": [round(value, 4) for value in quantiles(measurement.latency_ms)],
        },
        "hot_path_to_end_ms": {
            "n": len(measurement.latency_to_end_ms),
            "p50": rounded(measurement.percentile_to_end(0.50)),
            "p99": rounded(measurement.percentile_to_end(0.99)),
            "max": rounded(max(measurement.latency_to_end_ms, default=None)),
        },
        "dropped": measurement.dropped,
        "deadline_misses": measurement.deadline_misses,
        "cpu_s": round(measurement.cpu_s, 3),
        "rss_mib": round(measurement.rss_mib, 1),
        "attributes_in_force": measurement.attributes_in_force,
        "deadline_scheduler": measurement.deadline_scheduler,
        "findings": findings,
    }


def make_result(
    environment: Mapping[str, Any], measurements: Sequence[Measurement], ideal_ms: float | None
) -> dict[str, Any]:
    """Return the whole result."""
    return {
        "schema": SCHEMA,
        "environment": dict(environment),
        "runs": [run_entry(measurement, ideal_ms) for measurement in measurements],
    }
