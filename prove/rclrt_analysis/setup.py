# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The package, in the form colcon reads. The wheel of both is pyproject.toml's, at the root."""

from setuptools import find_namespace_packages, setup

setup(
    name="rclrt_analysis",
    version="0.1.0",
    description="System models, bounds, simulation and plans of rclrt",
    license="Apache-2.0",
    author="The rclrt Authors",
    author_email="nobody@rclrt.invalid",
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_namespace_packages("src", include=["rclrt_analysis*"]),
    package_data={"rclrt_analysis": ["py.typed", "model/model.schema.json"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rclrt_analysis"]),
        ("share/rclrt_analysis", ["package.xml"]),
    ],
)
