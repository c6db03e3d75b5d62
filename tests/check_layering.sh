#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that modules, and the rooms of a module, include only what they may.
# Prints one line per violation, e.g.
#   models/base/leak.hpp:1: models must not include planner
# usage: check_layering.sh [REPOSITORY_ROOT]; exit status 1 when something is wrong.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

modules=(models topologies scenarios sim calibration planner gui python)
folders=()
for module in "${modules[@]}" tests; do
  [[ -d $module ]] && folders+=("$module")
done
((${#folders[@]})) || { echo "no module found in $PWD" >&2 && exit 1; }

# shellcheck disable=SC2016  # the program below is awk's
find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.cu' \
  -o -name '*.cuh' \) -print0 | sort -z | xargs -0 -r awk '
  BEGIN {
    # Module: the other modules whose headers it may include.
    may["models"] = " "
    may["topologies"] = " models "
    may["scenarios"] = " models topologies "
    may["sim"] = " models topologies "
    may["calibration"] = " models topologies scenarios "
    may["calibration/harness"] = " "
    may["planner"] = " models topologies scenarios sim calibration "
    may["gui"] = " planner "
    may["python"] = " models scenarios sim planner "
    may["tests"] = " models topologies scenarios sim calibration planner gui "

    # Module: its rooms, each of which may include itself and those before it.
    rooms("models", "base inputs schedules network kernels collectives grid layers data memory rules serving step run forecast post_training")
    rooms("topologies", "fabrics routes imports")
    rooms("scenarios", "yaml fields sections huggingface catalog resolve imports")
    rooms("sim", "flows simgrid step collectives lives queue serving")
    rooms("calibration", "records imports training_logs cases fit validate diagnosis")
    rooms("planner", "text scene answer serving post_training study forecast network step explain search page edit mpi sweep exchange solve evidence constants own_runs diagnosis check cluster transfers cli")
    rooms("python", "module")
    rooms("gui", "looks process views panes window")

    # Library: a pattern of its headers, and the only places that may include them.
    library("yaml-cpp", "^yaml-cpp/", "scenarios tests")
    library("SimGrid", "^(simgrid|xbt)/", "sim")
    library("Qt", "^Qt?[A-Z]", "gui tests")
    library("Python", "^(pybind11|Python)", "python")
    library("CUDA", "^(cuda|cublas|nvml|nccl|nvtx|cupti|cooperative_groups)", "calibration/harness")
    library("CLI11", "^CLI/", "planner")
    library("TOML", "^toml\\+\\+/", "scenarios")
    library("JSON", "^nlohmann/", "scenarios calibration planner gui tests")
    library("Catch2", "^catch2/", "tests")
    library("protobuf", "^google/protobuf", "planner")
    library("pugixml", "^pugixml", "topologies tests")
    # models computes and does nothing else.
    split("fstream iostream filesystem cstdio print", io, " ")
    for (i in io) library("<" io[i] ">", "^" io[i] "$", "topologies scenarios sim calibration calibration/harness planner python gui tests")
  }
  function library(name, pattern, places) {
    pattern_of[name] = pattern
    places_of[name] = " " places " "
  }
  function rooms(module, names, list, i, count) {
    count = split(names, list, " ")
    for (i = 1; i <= count; ++i) place_of[module, list[i]] = i
    has_rooms[module] = 1
  }
  # The first folder below the module.
  function room_of(path, parts) {
    split(path, parts, "/")
    return parts[2]
  }
  function report(what) {
    printf "%s:%d: %s must not include %s\n", FILENAME, FNR, module, what
    wrong = 1
  }
  FNR == 1 {
    module = FILENAME
    sub(/\/.*/, "", module)
    if (FILENAME ~ /^calibration\/harness\//) module = "calibration/harness"
    if (module in has_rooms && !((module, room_of(FILENAME)) in place_of)) {
      printf "%s:1: %s has no room %s\n", FILENAME, module, room_of(FILENAME)
      wrong = 1
    }
  }
  /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    header = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", header)
    sub(/[">].*/, "", header)

    if (header ~ /(^|\/)\.\.?\//) report("by a relative path: " header)
    target = header
    sub(/\/.*/, "", target)
    # SHA-256 is one source that the harness compiles for itself.
    if (module == "calibration/harness" && header == "scenarios/yaml/sha256.hpp") next
    if (header ~ /\// && target in may && target != module &&
        index(module, target "/") != 1 && index(may[module], " " target " ") == 0)
      report(target)
    if (target == module && module in has_rooms && header ~ /\/.*\// &&
        place_of[module, room_of(header)] > place_of[module, room_of(FILENAME)])
      report("the later room " room_of(header))
    if (header ~ /\/internal\// && target != module && module != "tests")
      report("the private header " header)
    # Its programs link nothing of ours, and nothing of ours links them; tests of its host side may.
    if (header ~ /^calibration\/harness\// && module != "calibration/harness" &&
        FILENAME !~ /^tests\/harness\//) report("calibration/harness")
    for (name in pattern_of)
      if (header ~ pattern_of[name] && index(places_of[name], " " module " ") == 0) report(name)
  }
  END { exit wrong }
' && exit 0
# xargs turns the exit status of awk into 123.
exit 1
