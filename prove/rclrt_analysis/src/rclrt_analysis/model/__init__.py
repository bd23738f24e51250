# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""System models: what an analysis needs to know, read from YAML."""

from rclrt_analysis.model.assumptions import implausible
from rclrt_analysis.model.document import ModelError
from rclrt_analysis.model.read import model_schema, read_model
from rclrt_analysis.model.system import (
    NS_PER_MS,
    Above,
    Budget,
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    Link,
    Overheads,
    Policy,
    Release,
    Reservation,
    System,
    in_ms,
)

__all__ = [
    "NS_PER_MS",
    "Above",
    "Budget",
    "Callback",
    "Chain",
    "Executor",
    "ExecutorKind",
    "Kind",
    "Link",
    "ModelError",
    "Overheads",
    "Policy",
    "Release",
    "Reservation",
    "System",
    "implausible",
    "in_ms",
    "model_schema",
    "read_model",
]
