#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain calibrate fit` and `foretrain validate --leave-out`.
# usage: calibrate_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

# What is wrong is told before anything is fitted.
run 2 calibrate fit --profile jax
has err "'jax' is not of the form stack/NAME"
run 2 calibrate fit --profile fabric/none
has err "fabric/none has no constant that is fitted"
run 2 calibrate fit --profile stack/none
has err "stack/none has no constant that is fitted"
run 2 calibrate fit --plan none.yaml
has err "none.yaml"
run 2 calibrate fit --check --write
run 2 validate --leave-out source --only memory
has err "--leave-out refits step times"
run 2 validate --leave-out source --skipped
has err "--leave-out takes no --skipped"
run 2 validate --leave-out device --peers
has err "--peers compares sources"
run 2 validate --leave-out colour
has err "colour"
run 2 validate --cache folds
has err "--leave-out"

# Pairs of runs that differ in one choice.
run 0 validate --ablations
for part in "right sign" "routing" "expert overlap" "recompute" "not judged"; do has out "$part"; done
is_narrow out
run 0 validate --ablations --json
has out '"within_a_third"'
run 2 validate --ablations --csv
has err "--ablations"

# The errors of sources left out ship with the profiles: shown at once.
run 0 validate --accuracy --source all
for part in "left out" "fitted" "all dense fp8" "all MoE" "8 tensor ranks"; do has out "$part"; done
is_narrow out
run 2 validate --accuracy --source nothing
has err "there is no line of the sources asked for"

# The fit does not depend on what a profile has: spoilt ones become what the fit gives again, with
# the lines of collectives within hosts and over a fabric.
stack=calibration/profiles/stack/jax.yaml
device=calibration/profiles/device/h100-sxm5-80gb.yaml
fabric=topologies/catalog/fabrics/ib-ndr.yaml
for file in "$stack" "$device" "$fabric"; do
  mkdir -p "mine/${file%/*}"
  sed 's/^  elementwise: .*/  elementwise: 9/; s/^band_high: .*/band_high: 2/
       s/^  in_switch: .*/  in_switch: {base: 9 us, step: 9 us, share: 0.9}/
       s/^  in_switch_tree: .*/  in_switch_tree: 9 us/' "$root/$file" >"mine/$file"
  cmp -s "mine/$file" "$root/$file" && fail "$file is not spoilt"
done
# What a profile has from its relative stays there: the fit writes the H200's own attention rate, and
# none of the constants that it shares with the H100.
cp "$root/calibration/profiles/device/h200.yaml" mine/calibration/profiles/device
chmod u+w mine/calibration/profiles/device/h200.yaml
echo 'attention: {rate: 300 TFLOP/s}' >>mine/calibration/profiles/device/h200.yaml
asked=(--catalog mine --profile stack/jax --profile device/h100-sxm5-80gb --profile fabric/ib-ndr
  --profile device/h200)
run 0 calibrate fit "${asked[@]}" --starts 1 --write
is_empty err
is_narrow out
has out "stack/jax"
has out "0 of 4 profiles are as the fit gives them"
has out "times.elementwise: 9"
has out "-> "
has out "h100-sxm5-80gb all-to-all"
has out "ib-ndr"
for file in "$stack" "$device" "$fabric"; do
  if grep -Eq '(elementwise|in_switch_tree|base|step): 9( |,|$)|band_high: 2$' "mine/$file"; then
    fail "the fit leaves $file spoilt"
  fi
  sed -n '/^deviations:/,$p' "mine/$file" | grep -q ': 0\.' || fail "$file has no deviations"
done
if grep -Eq 'rate: 300|^ *(gemm|protocols)[.:]' mine/calibration/profiles/device/h200.yaml; then
  fail "the fit writes into a profile what its relative says"
fi
# All profiles, shipped and written, from two starts; a constant a deviation off is found.
run 0 calibrate fit --catalog mine --starts 2 --check --json
is_json out
has out '"what": "efa-p5"'

# Without its source; the second time from what the first one kept.
folds=$PWD/folds
run 0 validate --runs --leave-out source --source kort --cache "$folds"
is_empty err
is_narrow out
has out "kort"
cp out first
touch before
run 0 validate --runs --leave-out source --source kort --cache "$folds"
cmp -s out first || fail "folds that were kept give something else"
[[ -z $(find "$folds" -newer before) ]] || fail "folds that were kept are computed again"
run 2 validate --runs --leave-out source --source none --cache "$folds"
has err "there is no step time of the sources asked for"

# A signal ends a fit at once, and it says that all is as it was.
cp mine/calibration/profiles/device/h200.yaml before.yaml
stopped 1 calibrate fit --catalog mine --write
has err "stopped: the fit did not end; no constant and no file was changed"
cmp -s mine/calibration/profiles/device/h200.yaml before.yaml || fail "a stopped fit changed a file"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
