#!/usr/bin/env bash
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the executors for rclcpp with colcon, and runs their tests, in a machine that has ROS 2 below /opt/ros: an official
# image, or your own. It installs packages with rosdep.
#
#   tools/in_ros_image.sh [address|thread]     with that sanitizer

set -euo pipefail
if [[ $# -gt 1 || ${1:-address} != @(address|thread) ]]; then
  echo "usage: tools/in_ros_image.sh [address|thread]" >&2
  exit 2
fi
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
setup=$(compgen -G '/opt/ros/*/setup.bash' | head -n 1) || {
  echo "tools/in_ros_image.sh: there is no ROS 2 below /opt/ros" >&2
  exit 1
}
set +u
# shellcheck disable=SC1090
. "$setup"
set -u
workspace=$(mktemp -d)
cd "$workspace"
as_root=()
((EUID == 0)) || as_root=(sudo)
"${as_root[@]}" apt-get update -q
rosdep update -q --rosdistro "$ROS_DISTRO"
rosdep install --from-paths "$source" --ignore-src -y --rosdistro "$ROS_DISTRO"
colcon build --base-paths "$source" --packages-up-to rclrt_rclcpp \
  --cmake-args -DRCLRT_BUILD_TESTS=ON "-DRCLRT_SANITIZE=${1:-}"
colcon test --base-paths "$source" --packages-select rclrt_core rclrt_config rclrt_watch rclrt_front_end rclrt_rclcpp
colcon test-result --verbose
