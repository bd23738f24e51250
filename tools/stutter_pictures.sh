#!/usr/bin/env bash
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the two pictures of "My robot stutters" (docs/how-to/stutters.png, helped.png) from two runs on this
# machine: the reference system on a wait set beside programs that take all the time there is, traced by the
# probe; then on our preemptive executor beside the same programs, with the parameters that `advise` has
# written. Needs real-time permission and Chromium. Takes a minute.

set -euo pipefail
cd "$(dirname "$0")/.."
export folder; folder=$(mktemp -d)
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
picture() {
  "${PYTHON:-.rclrt/venv/bin/python3}" see/rclrt_tools/test/browsers.py "$@"
}
program=${RCLRT_BUILD_DIR:-build}/rclrt_reference_system/rclrt_reference_system
run() {
  "$program" --duration 10 --out "$folder/report.json" \
    --scenario try/rclrt_scenarios/autoware_reference_system.yaml "$@"
}

export program
export -f run
for ((i = 0; i < 2 * $(nproc); ++i)); do
  timeout 60 sh -c 'while :; do :; done' &
  busy+=($!)
done
rclrt=${RCLRT:-./rclrt}
$rclrt observe -o "$folder/stutters" -- bash -c 'run --executor wait_set_single'
$rclrt trace advise "$folder/stutters" || [[ $? -eq 1 ]]  # 1: a bound exceeds its period.
RCLRT_TRACE=$folder/helped run --executor preemptive --config "$folder/stutters/rclrt.yaml"
callback=/ObjectCollisionEstimator/subscription/EuclideanClusterDetector
for name in stutters helped; do
  $rclrt trace page -o "$folder/$name.html" "$folder/$name"
  $rclrt trace info "$folder/$name"
  picture "$folder/$name.html" "docs/how-to/$name.png" 1300x680 "$callback"
done
