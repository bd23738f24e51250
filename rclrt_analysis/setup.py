# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""For colcon, which asks for this file; everything is in pyproject.toml."""

from setuptools import setup

setup(
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rclrt_analysis"]),
        ("share/rclrt_analysis", ["package.xml"]),
    ]
)
