#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws every view and the whole window, light and dark, at two sizes, without a display.
# usage: make.sh PROGRAM FOLDER [SCENARIO]
#   PROGRAM  foretrain-gui, e.g. build/dev/bin/foretrain-gui
#   FOLDER   gets VIEW-THEME-SIZE.png; existing files are replaced
set -euo pipefail

if (($# < 2 || $# > 3)); then
  sed -n '3,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
program=$1
folder=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
scenario=${3:-$here/../../scenarios/llama2-70b-1024xh100.yaml}
mkdir -p -- "$folder"

# The program itself knows its views: "--view <ID>  What to draw: memory, ..., window."
views=$("$program" --help | tr -s ' \n' ' ' | sed -n 's/.*What to draw: \([a-z, ]*\)\..*/\1/p')
[[ -n $views ]] || { echo "make.sh: $program --help lists no views" >&2 && exit 1; }

for view in ${views//,/}; do
  for theme in light dark; do
    for size in 1280x800 2560x1440; do
      "$program" --render "$folder/$view-$theme-$size.png" --view "$view" --theme "$theme" \
        --size "$size" "$scenario"
    done
  done
done
