#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A reproducible build must not compile in when or where it ran. usage: no_build_facts.sh ROOT
set -euo pipefail
cd -- "$1"
sources=(models topologies scenarios sim calibration planner)
[[ ! -d gui ]] || sources+=(gui)
if grep -rnE '\b__(DATE|TIME|TIMESTAMP)__\b' --include='*.cpp' --include='*.hpp' "${sources[@]}"; then
  echo 'FAIL: these change with the time of the build' >&2
  exit 1
fi
