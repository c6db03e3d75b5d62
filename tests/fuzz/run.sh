#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD SECONDS [FUZZER...]: runs fuzzers of a build folder (preset `fuzz`) for SECONDS each,
# all of them without a name, from the files that the tests read as seeds. What they find new stays
# in BUILD/corpus/FUZZER. Prints a line per fuzzer; exits 1 where one made a finding.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
tests=$here/..
build=${1:?run.sh BUILD SECONDS [FUZZER...]}
seconds=${2:?run.sh BUILD SECONDS [FUZZER...]}
shift 2

# Arguments of measured Megatron-LM runs, one file each.
megatron_seeds() {
  python3 - "$tests/../calibration/measured/megatron_ci_memory.json" "$1" <<'EOF'
import json, pathlib, sys
rows = json.load(open(sys.argv[1]))["rows"]
for number, row in enumerate(rows):
    args = row["args"]
    text = " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in args.items())
    (pathlib.Path(sys.argv[2]) / f"ci{number}").write_text(text)
EOF
}

# Files in the language that a fuzzer reads, and what earlier runs found worth keeping.
copy_seeds() {
  [[ ! -d $here/seeds/$1 ]] || cp -- "$here/seeds/$1"/* "$2"
  case $1 in
    scenario) cp -- "$here"/corpus/* "$2" ;;
    topology_nccl) cp -- "$tests"/topologies/fixtures/nccl_* "$2" ;;
    topology_*) cp -- "$tests"/topologies/fixtures/"${1#topology_}"_* "$2" ;;
    import_huggingface) cp -- "$tests"/scenarios/huggingface/*.json "$2" ;;
    import_megatron)
      cp -- "$tests"/scenarios/imports/megatron/* "$2"
      megatron_seeds "$2"
      ;;
    cluster) cp -- "$tests"/../scenarios/clusters/*.yaml "$2" ;;
    training_log) cp -- "$tests"/calibration/training_logs/* "$2" ;;
    log_*) cp -- "$tests"/calibration/fixtures/* "$2" ;;
  esac
}

run_one() {
  local name=$1 corpus=$build/corpus/$1 seeds dictionary=()
  seeds=$(mktemp -d)
  mkdir -p -- "$corpus" "$build/findings"
  copy_seeds "$name" "$seeds"
  [[ $name != scenario ]] || dictionary=(-dict="$here/scenario.dict")
  local log=$build/findings/$name.log status=0
  "$build/bin/foretrain_fuzz_$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -entropic=0 \
    -artifact_prefix="$build/findings/$name-" "${dictionary[@]}" "$corpus" "$seeds" \
    >"$log" 2>&1 || status=$?
  rm -rf -- "$seeds"
  if ((status == 0)); then
    echo "$name: $(grep -a '^Done ' "$log")"
  else
    echo "$name: a finding, see $log" >&2
  fi
  return "$status"
}

if (($# == 0)); then
  for program in "$build"/bin/foretrain_fuzz_*; do set -- "$@" "${program##*/foretrain_fuzz_}"; done
fi
failed=0
for name in "$@"; do run_one "$name" || failed=1; done
exit "$failed"
