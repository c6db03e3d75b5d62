#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the two CUDA programs against what they say where there is no GPU, and of wrong options.
# usage: harness_programs_test.sh GPUBENCH NCCLBENCH
set -uo pipefail
gpubench=$1
ncclbench=$2
failures=0

# expect STATUS TEXT COMMAND...: exit status, and one line on standard error that has the text.
expect() {
  local status=$1 text=$2 output result
  shift 2
  output=$("$@" 2>&1 >/dev/null)
  result=$?
  if ((result != status)) || [[ $output != *"$text"* ]] || (($(wc -l <<<"$output") != 1)); then
    printf 'FAILED: %s\n  exit %s (expected %s): %s\n' "$*" "$result" "$status" "$output" >&2
    failures=$((failures + 1))
  fi
}

expect 2 "unknown option '--devise'" "$gpubench" --devise 1
expect 2 "is not an operation" "$ncclbench" --op allreduce
[[ $("$gpubench" --help) == usage:* ]] || { echo 'FAILED: gpubench --help' >&2; failures=1; }
[[ $("$ncclbench" --help) == usage:* ]] || { echo 'FAILED: ncclbench --help' >&2; failures=1; }
if CUDA_VISIBLE_DEVICES='' "$gpubench" --budget 1s >/dev/null 2>&1; then
  echo 'FAILED: gpubench ran without a GPU' >&2
  failures=1
fi
expect 2 'there is no NVIDIA GPU here' env CUDA_VISIBLE_DEVICES= "$gpubench"
expect 2 'there is no NVIDIA GPU here' env CUDA_VISIBLE_DEVICES= "$ncclbench"
exit $((failures > 0))
