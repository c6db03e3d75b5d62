#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests check_device_names.py: names of the catalogs and other names of their devices are found with
# the place; comments, names of files, parts of longer names and examples in help are not.
set -euo pipefail
checker=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/check_device_names.py")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/topologies/catalog/{devices,hosts} "$root"/calibration/profiles/site "$root"/planner/cli
printf 'name: g5\naliases: [Giga G5, G5-SXM]\nshort_names: [G5]\n' >"$root/topologies/catalog/devices/g5.yaml"
touch "$root/topologies/catalog/hosts/box-g5.yaml" "$root/calibration/profiles/site/default.yaml"
printf '// "g5" is free here\n#include "g5.hpp"\nauto a = "my-g5.yaml";  // of "g5"\nauto b = "512xg5 by default";\n' \
  >"$root/planner/right.cpp"
printf 'auto help = "Examples:\\n"\n"  foretrain plan --host box-g5\\n";\n' >"$root/planner/cli/help.cpp"
"$checker" "$root" || { echo 'what decides nothing is refused' >&2; exit 1; }

printf 'bool a = x == "g5" || y == "box-g5";\nauto b = "like a G5-SXM";\n' >"$root/planner/wrong.cpp"
printf 'auto a = host.empty() ? "box-g5" : host;\n' >"$root/planner/cli/wrong.cpp"
if "$checker" "$root" >"$root/out"; then
  echo 'names pass' >&2
  exit 1
fi
diff - "$root/out" <<'EXPECTED'
planner/cli/wrong.cpp:1: names box-g5; write what is true of it in its file of the catalog
planner/wrong.cpp:1: names g5; write what is true of it in its file of the catalog
planner/wrong.cpp:1: names box-g5; write what is true of it in its file of the catalog
planner/wrong.cpp:2: names G5-SXM; write what is true of it in its file of the catalog
EXPECTED
echo ok
