# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation of a system model, job by job: what bounds are held against."""

from rclrt_analysis.simulation.jobs import Job, Run, chain_ages, chain_latencies, chain_times
from rclrt_analysis.simulation.phases import Seen, phasings, search
from rclrt_analysis.simulation.simulate import SimulationError, simulate

__all__ = [
    "Job",
    "Run",
    "Seen",
    "SimulationError",
    "chain_ages",
    "chain_latencies",
    "chain_times",
    "phasings",
    "search",
    "simulate",
]
