# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files: what jobs did, and why (rclrt_trace/SPEC.md)."""

from rclrt_tools.trace.layout import (
    DONE,
    NO_DEADLINE,
    RECORD,
    Entry,
    Header,
    Records,
    Trace,
    TraceError,
    blank,
    write_trace,
)
from rclrt_tools.trace.read import TraceReader, named_traces, read_trace

__all__ = [
    "DONE",
    "NO_DEADLINE",
    "RECORD",
    "Entry",
    "Header",
    "Records",
    "Trace",
    "TraceError",
    "TraceReader",
    "blank",
    "named_traces",
    "read_trace",
    "write_trace",
]
