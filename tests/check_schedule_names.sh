#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that nothing but its own file, the list of schedules and the importers and exporters of
# frameworks' names speaks of a schedule by name: what a schedule is like stands in its traits.
# Prints one line per violation.
# usage: check_schedule_names.sh [REPOSITORY_ROOT]; exit status 1 when something is wrong.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

# Enumerators as models/inputs/schedule_kind.hpp lists them.
names=$(sed -n 's/^ *entry(\([a-z0-9_]*\), ".*/\1/p' models/inputs/schedule_kind.hpp | paste -sd'|')
[[ -n $names ]] || { echo "models/inputs/schedule_kind.hpp lists no schedules" >&2 && exit 1; }

if grep -rnE --include='*.hpp' --include='*.cpp' "ScheduleKind::($names)\b" \
  models topologies scenarios sim calibration planner gui |
  grep -vE '^(models/schedules/|models/inputs/schedule_kind\.hpp|scenarios/imports/|planner/exchange/)' |
  sed 's/\(^[^:]*:[0-9]*\):.*ScheduleKind::\([a-z0-9_]*\).*/\1: speaks of the schedule \2 by name/'; then
  exit 1
fi
