# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the command line tests with the program and the repository's root: a scratch folder, a
# clean environment, and the checks that they share.
# shellcheck disable=SC2034  # variables are for the scripts that source this
set -uo pipefail
program=$(realpath -- "$1")
root=$(realpath -- "$2")
scenario=$root/scenarios/llama2-70b-1024xh100.yaml
work=$(mktemp -d)
# A check that failed fails the script, whatever its last line is.
trap 'status=$?; rm -rf "$work"; ((failures == 0)) || status=1; exit "$status"' EXIT
cd "$work" || exit 1
unset NO_COLOR LC_ALL LC_CTYPE
export LANG=C.UTF-8 TERM=xterm
failures=0

fail() {
  echo "FAIL: $*" >&2
  head -n 40 out | sed 's/^/  stdout: /' >&2
  sed 's/^/  stderr: /' err >&2
  failures=$((failures + 1))
}
# run EXPECTED_STATUS ARGUMENTS...: leaves stdout in `out` and stderr in `err`.
run() {
  local expected=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  ((status == expected)) || fail "status $status instead of $expected: foretrain $*"
}
has() { grep -qF -- "$2" "$1" || fail "$1 lacks: $2"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "$1 has: $2"; }
is_empty() { [[ ! -s $1 ]] || fail "$1 is not empty"; }
is_json() { python3 -m json.tool <"$1" >/dev/null || fail "$1 is not JSON"; }
# same_text REPORT TEXT: the file REPORT is the text and the last line that files get.
same_text() { cmp -s <(head -n -2 "$1") "$2" && tail -n 1 "$1" | grep -q '^foretrain [0-9]'; }
is_xml() { python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1" || fail "$1 is not XML"; }
is_narrow() { awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' "$1" || fail "$1 is wide"; }

# stopped SECONDS ARGUMENTS...: runs the program with `out` and `err`; a signal (Ctrl-C) after so much work, in
# seconds of a processor from when it listens, ends it by itself: the clock tells nothing of work on a busy
# machine. (A shell's background jobs ignore that signal, so Python sends it.)
stopped() {
  local status=0
  python3 - "$1" "$program" "${@:2}" >out 2>err <<'STOP' || status=$?
import os, pathlib, re, signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
status, used = (pathlib.Path(f"/proc/{child.pid}/{name}") for name in ("status", "stat"))
listens = 1 << (signal.SIGINT - 1)
def worked():
    fields = used.read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
while child.poll() is None and not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & listens:
    time.sleep(0.01)
start = worked()
while child.poll() is None and worked() - start < float(sys.argv[1]):
    time.sleep(0.01)
if child.poll() is not None:
    sys.exit("ended before it could be stopped")
child.send_signal(signal.SIGINT)
try:
    sys.exit(child.wait(timeout=30))
except subprocess.TimeoutExpired:
    child.kill()
    sys.exit("goes on after the first signal")
STOP
  ((status == 130)) || fail "status $status instead of 130: foretrain ${*:2}"
}
