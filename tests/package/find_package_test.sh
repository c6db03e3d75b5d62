#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs this build into a scratch folder, builds the example against it as somebody else would, and
# runs both. usage: find_package_test.sh CMAKE BUILD_FOLDER REPOSITORY_ROOT CXX LINKER_FLAGS
set -euo pipefail
cmake=$1 build=$2 root=$3 cxx=$4 linker=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

for component in program event development; do
  "$cmake" --install "$build" --prefix "$work/usr" --component $component >"$work/log" ||
    { cat "$work/log" >&2; fail "the component $component does not install"; }
done
# No header may need one that is not installed.
(cd "$work"/usr/include/foretrain && grep -rhoP '^#include "\K(models|topologies|scenarios|sim|calibration|planner)/[^"]+' . |
  sort -u | while read -r header; do
    [[ -f $header ]] || fail "$header is included by an installed header, and not installed"
  done)
# What is installed says nothing of the source or build folder, but for the CMake files' dependencies.
if grep -rqF -e "$root/" "$work"/usr/lib*/*/cmake "$work"/usr/lib*/cmake 2>/dev/null; then
  fail 'the CMake files name the source folder'
fi

"$cmake" -G Ninja -S "$root/tests/package/example" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/usr" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_EXE_LINKER_FLAGS="$linker" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail 'the example does not configure'; }
"$cmake" --build "$work/example" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the example does not build'; }

scenario=$work/usr/share/foretrain/scenarios/llama3-8b-8xh100.yaml
export FORETRAIN_DATA_DIR=$work/usr/share/foretrain
said=$("$work/example/forecast" "$scenario")
step=$("$work/usr/bin/foretrain" simulate "$scenario" --json |
  python3 -c 'import json, sys; print("%.6g" % json.load(sys.stdin)["step"]["time_s"])')
[[ $said == "llama3-8b-8xh100: $step s" ]] || fail "the example says '$said', the program $step s"
# nanoGPT's notebook on transformer sizes counts 291.6 GFLOP forward for GPT-2 small at 1,024 tokens,
# three times that with the backward pass.
flops=$("$work/example/flops")
python3 -c 'import sys; sys.exit(not abs(float(sys.argv[1]) / 8.75e11 - 1) < 0.02)' "$flops" ||
  fail "GPT-2 small takes $flops FLOP per sequence"

# Another minor version may have changed any declaration.
printf 'cmake_minimum_required(VERSION 3.25)\nproject(x NONE)\nfind_package(foretrain 0.2 REQUIRED)\n' \
  >"$work/CMakeLists.txt"
if "$cmake" -G Ninja -S "$work" -B "$work/next" -DCMAKE_PREFIX_PATH="$work/usr" >"$work/log" 2>&1; then
  fail 'version 0.1 passes for 0.2'
fi
grep -q 'version: 0.1.' "$work/log" || { cat "$work/log" >&2; fail 'the refusal does not name the version'; }
