# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The agent on one line: ros2 launch rclrt_agent agent.launch.py line:="udp4 -p 8888"."""

import shlex

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node


def agent(context: LaunchContext) -> list[Node]:
    """Make the node of the arguments."""
    line = LaunchConfiguration("line").perform(context)
    parameters = LaunchConfiguration("parameters").perform(context)
    return [
        Node(
            package="rclrt_agent",
            executable="rclrt_agent",
            name="rclrt_agent",
            arguments=shlex.split(line),
            parameters=[parameters] if parameters else [],
            output="screen",
            respawn=True,
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("line", default_value="serial --dev /dev/ttyUSB0 -b 115200"),
            DeclareLaunchArgument("parameters", default_value="", description="file of urgencies"),
            OpaqueFunction(function=agent),
        ]
    )
