#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds targets of two copies of the sources in two folders, without a compiler cache, and compares
# every byte of them. Minutes for a library, long for the program, so that it is not part of ctest.
# usage: reproducible_test.sh [TARGET...] (default: foretrain_simgrid foretrain_topologies)
set -euo pipefail
root=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../..")
targets=("$@")
(($#)) || targets=(foretrain_simgrid foretrain_topologies)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1

for place in one another/one/deeper; do
  mkdir -p "$work/$place"
  git -C "$root" archive HEAD | tar -x -C "$work/$place"
  (cd -- "$work/$place" && cmake --preset package -DFORETRAIN_BUILD_GUI=OFF >/dev/null &&
    ninja -C build/package -j "$(nproc)" "${targets[@]}" >/dev/null)
done
cd -- "$work"
status=0
while read -r file; do
  other=another/one/deeper/${file#one/}
  if cmp -s "$file" "$other"; then
    sha256sum "$file" | sed "s| one/build/package/|  |"
  else
    echo "FAIL: ${file#one/build/package/} depends on where it is built" >&2
    status=1
  fi
done < <(find one/build/package -name '*.a' -o -path '*/bin/*' -type f | sort)
exit "$status"
