# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Two composed nodes under a real-time executor."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import ComposableNodeContainer
from launch_ros.descriptions import ComposableNode
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Describe the container and its components; `ros2 launch` calls it."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("executor", default_value="preemptive"),
            DeclareLaunchArgument("policy", default_value="fixed_priority"),
            DeclareLaunchArgument(
                "attributes",
                default_value=PathJoinSubstitution(
                    [FindPackageShare("rclrt_rclcpp"), "config", "composed.yaml"]
                ),
            ),
            DeclareLaunchArgument("trace", default_value=""),
            ComposableNodeContainer(
                package="rclrt_rclcpp",
                executable="component_container_rt",
                name="container",
                namespace="",
                parameters=[
                    {
                        "executor": LaunchConfiguration("executor"),
                        "policy": LaunchConfiguration("policy"),
                        "trace": LaunchConfiguration("trace"),
                    },
                    LaunchConfiguration("attributes"),
                ],
                composable_node_descriptions=[
                    ComposableNode(
                        package="rclrt_rclcpp", plugin="rclrt_rclcpp::Talker", name="talker"
                    ),
                    ComposableNode(
                        package="rclrt_rclcpp",
                        plugin="rclrt_rclcpp::Listener",
                        name="listener",
                        # An executor and a thread of its own.
                        extra_arguments=[{"executor": "priority_events"}],
                    ),
                ],
            ),
        ]
    )
