# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The package, in the form colcon reads; pip reads it as well."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="rclrt_tools",
    version="0.1.0",
    description="The verbs of ./rclrt: traces, pages, and a look at running executors",
    long_description=(Path(__file__).parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    classifiers=[
        "Programming Language :: Python :: 3",
        "Topic :: Software Development",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    author="The rclrt Authors",
    author_email="nobody@rclrt.invalid",
    python_requires=">=3.10",
    install_requires=["jinja2", "numpy", "pyyaml", "rclrt_analysis"],
    extras_require={"export": ["mcap", "perfetto", "zstandard"], "top": ["textual"]},
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"rclrt_tools": ["py.typed", "templates/*"]},
    entry_points={"ros2cli.command": ["rt = rclrt_tools.ros2_command:RtCommand"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rclrt_tools"]),
        ("share/rclrt_tools", ["package.xml"]),
    ],
)
