#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts the desktop program as people without a display do.
# usage: gui_cli_test.sh FORETRAIN FORETRAIN_GUI REPOSITORY_ROOT
set -uo pipefail

foretrain=$1
gui=$2
scenario=$3/scenarios/llama2-70b-1024xh100.yaml
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
export XDG_CONFIG_HOME=$folder/config XDG_RUNTIME_DIR=$folder
unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM
failures=0

# run STATUS PATTERN COMMAND...: its exit status, and what it says on standard error.
run() {
  local status=$1 pattern=$2
  shift 2
  "$@" >"$folder/out" 2>"$folder/err" </dev/null
  local actual=$?
  if ((actual != status)) || ! grep -q -- "$pattern" "$folder/err"; then
    printf 'FAILED: %s\n  status %s, expected %s; expected to say: %s\n' "$*" "$actual" "$status" "$pattern"
    sed 's/^/  | /' "$folder/err"
    failures=$((failures + 1))
  fi
}

run 2 'no display' "$gui"
run 2 'no display' "$gui" "$scenario"
run 2 'no display' env DISPLAY=:4711 "$gui" "$scenario"
run 2 'no display' "$foretrain" gui "$scenario"
run 2 'size takes' "$gui" --render "$folder/a.png" --size big "$scenario"
run 2 'theme takes' "$gui" --render "$folder/a.png" --theme pink "$scenario"
run 2 'scale takes' "$gui" --render "$folder/a.png" --scale 9 "$scenario"
run 2 'one scenario' "$gui" --render "$folder/a.png" "$scenario" "$scenario"
run 2 "did you mean 'gantt'" "$gui" --render "$folder/a.png" --view gant "$scenario"
run 2 'none.yaml' "$gui" --render "$folder/a.png" "$folder/none.yaml"
run 2 '.png' "$gui" --render "$folder/a.doc" "$scenario"

"$gui" --render "$folder/window.png" --theme dark "$scenario" 2>"$folder/err" || {
  echo 'FAILED: the window is not drawn' && cat "$folder/err" && failures=$((failures + 1))
}
# A PNG of 1280 x 800 begins with these bytes.
[[ $(od -An -tx1 -N24 "$folder/window.png" | tr -d ' \n') == 89504e470d0a1a0a0000000d494844520000050000000320 ]] || {
  echo 'FAILED: window.png is no picture of 1280 x 800' && failures=$((failures + 1))
}

# A program that was installed without the desktop program says how to get it.
cp "$foretrain" "$folder/foretrain"
PATH=/usr/bin:/bin run 2 'FORETRAIN_BUILD_GUI' "$folder/foretrain" gui

((failures == 0)) || exit 1
