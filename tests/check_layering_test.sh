#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the checker: every kind of forbidden include must be reported, and legal ones must not.
set -euo pipefail
checker=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/check_layering.sh
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
failures=0

# expect FILE INCLUDE_LINE MESSAGE: a tree with only that file gives exactly that message; an empty
# message means that the include is legal.
expect() {
  local file=$1 line=$2 message=$3 output status=0
  rm -rf -- "${tree:?}"/*
  mkdir -p "$tree/$(dirname -- "$file")"
  printf '%s\n' "$line" >"$tree/$file"
  output=$("$checker" "$tree" 2>&1) || status=$?
  local wanted_status=0
  [[ -z $message ]] || { wanted_status=1 && message="$file:1: $message"; }
  if [[ $output != "$message" || $status != "$wanted_status" ]]; then
    printf '%s with %s\n  wanted (%d): %s\n  got    (%d): %s\n' "$file" "$line" "$wanted_status" \
      "$message" "$status" "$output"
    failures=1
  fi
}

expect models/base/leak.hpp '#include "planner/search/search.hpp"' 'models must not include planner'
expect models/base/leak.cpp '#include "topologies/fabrics/clos.hpp"' 'models must not include topologies'
expect models/base/leak.cpp '#  include <scenarios/resolve/scenario.hpp>' 'models must not include scenarios'
expect models/base/leak.cpp '#include <fstream>' 'models must not include <fstream>'
expect topologies/routes/leak.cpp '#include "scenarios/resolve/scenario.hpp"' 'topologies must not include scenarios'
expect scenarios/fields/leak.cpp '#include "sim/engine.hpp"' 'scenarios must not include sim'
expect scenarios/fields/leak.cpp '#include "planner/forecast/report.hpp"' 'scenarios must not include planner'
expect sim/step/leak.cpp '#include "planner/forecast/report.hpp"' 'sim must not include planner'
expect sim/step/leak.cpp '#include "scenarios/resolve/scenario.hpp"' 'sim must not include scenarios'
expect calibration/fit/leak.cpp '#include "planner/forecast/report.hpp"' 'calibration must not include planner'
expect calibration/harness/leak.cu '#include "models/base/quantity.hpp"' \
  'calibration/harness must not include models'
expect planner/cli/leak.cpp '#include "gui/window.hpp"' 'planner must not include gui'
expect gui/panes/leak.cpp '#include "sim/engine.hpp"' 'gui must not include sim'
expect planner/text/leak.cpp '#include "../models/job.hpp"' \
  'planner must not include by a relative path: ../models/job.hpp'
expect planner/text/leak.cpp '#include "sim/internal/zone.hpp"' \
  'planner must not include the private header sim/internal/zone.hpp'
expect planner/text/leak.cpp '#include <yaml-cpp/yaml.h>' 'planner must not include yaml-cpp'
expect planner/text/leak.cpp '#include <simgrid/s4u.hpp>' 'planner must not include SimGrid'
expect planner/text/leak.cpp '#include <QWidget>' 'planner must not include Qt'
expect planner/text/leak.cpp '#include <QtWidgets/QWidget>' 'planner must not include Qt'
expect calibration/fit/leak.cpp '#include <cuda_runtime.h>' 'calibration must not include CUDA'
expect scenarios/fields/leak.cpp '#include <CLI/CLI.hpp>' 'scenarios must not include CLI11'
expect models/base/leak.cpp '#include <nlohmann/json.hpp>' 'models must not include JSON'
expect models/base/leak.cpp '#include <catch2/catch.hpp>' 'models must not include Catch2'
expect models/layers/leak.cpp '#include "models/step/task_graph.hpp"' \
  'models must not include the later room step'
expect planner/forecast/leak.cpp '#include "planner/search/internal/search_worker.hpp"' \
  'planner must not include the later room search'
expect topologies/fabrics/leak.cpp '#include "topologies/routes/routing.hpp"' \
  'topologies must not include the later room routes'
expect scenarios/yaml/leak.hpp '#include "scenarios/resolve/scenario.hpp"' \
  'scenarios must not include the later room resolve'
expect sim/step/leak.cpp '#include "sim/lives/run_simulation.hpp"' \
  'sim must not include the later room lives'
expect calibration/records/leak.cpp '#include "calibration/fit/internal/numeric_fit.hpp"' \
  'calibration must not include the later room fit'
expect gui/views/leak.cpp '#include "gui/window/main_window.hpp"' \
  'gui must not include the later room window'
expect models/leak.cpp '#include <vector>' 'models has no room leak.cpp'
expect gui/leak.cpp '#include <vector>' 'gui has no room leak.cpp'

expect models/step/good.cpp '#include "models/inputs/job.hpp"' ''
expect models/step/good.cpp '#include <vector>' ''
expect models/step/good.cpp '// #include "planner/search/search.hpp"' ''
expect topologies/imports/good.cpp '#include "models/inputs/cluster.hpp"' ''
expect scenarios/yaml/good.cpp '#include <yaml-cpp/yaml.h>' ''
expect sim/simgrid/good.cpp '#include <simgrid/s4u.hpp>' ''
expect calibration/harness/good.cu '#include <nccl.h>' ''
expect calibration/harness/good.cu '#include "calibration/harness/timer.hpp"' ''
expect planner/cli/good.cpp '#include "planner/forecast/report.hpp"' ''
expect gui/views/good.cpp '#include "planner/forecast/report.hpp"' ''
expect tests/models/good_test.cpp '#include "sim/internal/zone.hpp"' ''

# A folder that is not the repository must not pass as clean.
rm -rf -- "${tree:?}"/*
if "$checker" "$tree" >/dev/null 2>&1; then
  echo 'an empty tree passed'
  failures=1
fi
exit "$failures"
