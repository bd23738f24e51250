# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The package, in the form colcon reads. The wheel of both is pyproject.toml's, at the root."""

from setuptools import find_namespace_packages, setup

setup(
    name="rclrt_tools",
    version="0.1.0",
    description="The verbs of rclrt: traces, pages, and a look at running executors",
    license="Apache-2.0",
    author="The rclrt Authors",
    author_email="nobody@rclrt.invalid",
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_namespace_packages("src", include=["rclrt_tools*"]),
    package_data={"rclrt_tools": ["py.typed", "templates/*"]},
    entry_points={
        "console_scripts": ["rclrt = rclrt_tools.cli:main"],
        "ros2cli.command": ["rt = rclrt_tools.ros2_command:RtCommand"],
        "ros2doctor.checks": ["RealTimeCheck = rclrt_tools.ros2_doctor:RealTimeCheck"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rclrt_tools"]),
        ("share/rclrt_tools", ["package.xml"]),
    ],
)
