#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws views and the whole window without a display.
# usage: make.sh PROGRAM FOLDER [SCENARIO]   every view, light and dark, 1280x800 and 2560x1440, as
#                                            FOLDER/VIEW-THEME-SIZE.png
#        make.sh --readme PROGRAM            the pictures of the READMEs, beside this script
# PROGRAM is foretrain-gui, e.g. build/dev/bin/foretrain-gui. Existing files are replaced.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
example=$here/../../scenarios/llama3.1-70b-1024xh100.yaml

draw() { # PROGRAM FILE VIEW THEME SIZE SCENARIO
  "$1" --render "$2" --view "$3" --theme "$4" --size "$5" "$6"
}

if (($# == 2)) && [[ $1 == --readme ]]; then
  draw "$2" "$here/window.png" window light 1440x900 "$example"
  draw "$2" "$here/gantt.png" gantt dark 1280x720 "$here/../../scenarios/llama3.1-405b-16384xh100.yaml"
  draw "$2" "$here/map.png" map light 1280x720 "$example"
  draw "$2" "$here/scatter.png" scatter dark 1280x800 "$example"
  if command -v optipng >/dev/null; then optipng -quiet -o3 "$here"/*.png; fi
  exit
fi
if (($# < 2 || $# > 3)); then
  sed -n '3,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi

program=$1
folder=$2
scenario=${3:-$example}
mkdir -p -- "$folder"
# The program knows its views: "--view <ID>  What to draw: memory, ..., window."
views=$("$program" --help | tr -s ' \n' ' ' | sed -n 's/.*What to draw: \([a-z, ]*\)\..*/\1/p')
[[ -n $views ]] || { echo "make.sh: $program --help lists no views" >&2 && exit 1; }
for view in ${views//,/}; do
  for theme in light dark; do
    for size in 1280x800 2560x1440; do
      draw "$program" "$folder/$view-$theme-$size.png" "$view" "$theme" "$size" "$scenario"
    done
  done
done
