# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The package, in the form colcon reads; pip reads it as well."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="rclrt_analysis",
    version="0.1.0",
    description="System models, bounds, simulation and plans of rclrt",
    long_description=(Path(__file__).parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    classifiers=[
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    author="The rclrt Authors",
    author_email="nobody@rclrt.invalid",
    python_requires=">=3.10",
    install_requires=["jsonschema", "numpy", "pyyaml"],
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"rclrt_analysis": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rclrt_analysis"]),
        ("share/rclrt_analysis", ["package.xml"]),
    ],
)
