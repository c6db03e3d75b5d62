#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the action runs; inputs come as FORETRAIN_* variables. Works in any CI: without GitHub's
# variables it prints no workflow commands.
set -euo pipefail

paths=()
while IFS= read -r path; do
  [[ -z ${path// /} ]] || paths+=("$path")
done <<<"${FORETRAIN_SCENARIOS:-}"
if ((${#paths[@]} == 0)); then
  echo 'the input scenarios is empty: name files or folders, one per line' >&2
  exit 2
fi
reports=${FORETRAIN_REPORTS:-foretrain-reports}
package=${FORETRAIN_PACKAGE:-}

if [[ -n $package ]]; then
  [[ -f $package ]] || { echo "there is no package '$package'" >&2; exit 2; }
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$(realpath -- "$package")"
fi
command -v foretrain >/dev/null ||
  { echo 'foretrain is not installed: give the input package, or install it before' >&2; exit 2; }

mkdir -p -- "$reports"
options=(--tolerance "${FORETRAIN_TOLERANCE:-0.000001}" --junit "$reports/check.xml"
  --markdown "$reports/check.md" --sarif "$reports/check.sarif")
[[ ${GITHUB_ACTIONS:-} != true ]] || options+=(--github)
status=0
foretrain check "${options[@]}" -- "${paths[@]}" || status=$?

moved=false
((status != 4)) || moved=true
[[ -z ${GITHUB_OUTPUT:-} ]] || printf 'reports=%s\nmoved=%s\n' "$reports" "$moved" >>"$GITHUB_OUTPUT"
exit "$status"
