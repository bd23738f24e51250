#!/usr/bin/env bash
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# check_model.sh holds|breaks <model.pml> [<macro>...]
# Explores every interleaving of a model with spin. `holds`: no promise of the model may break; `breaks`:
# with these mistakes planted, one must. Without spin: exit status 77 (a skip), or 1 where the
# environment says CI.

set -euo pipefail

if [[ $# -lt 2 || ($1 != holds && $1 != breaks) ]]; then
  echo "usage: check_model.sh holds|breaks <model.pml> [<macro>...]" >&2
  exit 2
fi
expected=$1
model=$(realpath "$2")
shift 2

if ! command -v spin > /dev/null; then
  echo "skipped: no model checker here (Debian and Ubuntu: apt-get install spin)"
  [[ -z ${CI:-} ]] && exit 77
  exit 1
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
spin -a "${@/#/-D}" "$model" > spin.log || { cat spin.log; exit 1; }
# A search that ends at the first mistake is shorter than a good compilation.
optimize=-O0
[[ $expected == holds ]] && optimize=-O2
"${CC:-cc}" "$optimize" -w -DSAFETY -DCOLLAPSE -o pan pan.c
# -m: depth of the search, -b: reaching it is an error, so that nothing is left out in silence.
./pan -m1000000 -b > pan.log || { cat pan.log; exit 1; }

errors=$(sed -nE 's/.*errors: ([0-9]+).*/\1/p' pan.log)
states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' pan.log)
reason=$(sed -nE 's/^pan:1: (.*) \(at depth [0-9]+\)$/\1/p' pan.log)
echo "$(basename "$model") $*: errors: $errors, states: $states${reason:+, $reason}"

case $expected in
  holds) [[ $errors == 0 ]] && ! grep -q "max search depth" pan.log && exit 0 ;;
  breaks) [[ $reason == "assertion violated"* || $reason == "invalid end state"* ]] && exit 0 ;;
esac
echo "expected the model to be one that $expected"
cat pan.log
exit 1
