#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives the commands of the first hour: init and doctor.
# usage: start_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
answers=(--model llama3-8b --host dgx-h100 --hosts 2 --tokens "1 T")

# A scenario from flags.
run 0 init first.yaml "${answers[@]}" </dev/null
is_empty out
has err "Written to first.yaml"
has first.yaml "# GPUs that every weight matrix is sharded across"
run 0 simulate first.yaml
has out "FITS"
run 0 check first.yaml --update
run 2 init first.yaml "${answers[@]}" </dev/null
has err "first.yaml is there already; --force replaces it"
cp first.yaml before.yaml
run 2 init first.yaml "${answers[@]}" --hosts 1 </dev/null
cmp -s first.yaml before.yaml || fail "a refused init changed the file"
run 0 init first.yaml --force --model llama2-7b --host dgx-a100 --hosts 1 </dev/null
has first.yaml "model: llama2-7b"
run 0 init "${answers[@]}" </dev/null
[[ -s llama3-8b-2xdgx-h100.yaml ]] || fail "no scenario under the name of its machine"
run 0 init - "${answers[@]}" --price "2.5 USD/GPU-hour" </dev/null
cp out piped.yaml
run 0 simulate - --full <piped.yaml
has out "at \$2.50 per GPU-hour"

# Nothing is written where nothing fits, and bad answers are told with what would be right.
run 3 init big.yaml --model llama3.1-405b --host dgx-h100 --hosts 1 </dev/null
has err "it fits on 14 hosts"
[[ ! -e big.yaml ]] || fail "a scenario that does not fit was written"
run 2 init --hosts 2 </dev/null
has err "it needs --model --host"
run 2 init - --model llama3-8x --host dgx-h100 --hosts 1 </dev/null
has err "did you mean 'llama3-8b'"
run 2 init - --model llama3-8b --host dgx-h10 --hosts 1 </dev/null
has err "did you mean 'dgx-h100'"
run 2 init - "${answers[@]}" --hosts 0 </dev/null
run 2 init no-such-folder/x.yaml "${answers[@]}" </dev/null
has err "cannot write"

# The five questions, on a terminal.
if command -v script >/dev/null; then
  printf 'llama3-9b\nllama3-8b\n\nmany\n2\n\n1 T\n' |
    script -qec "$(printf '%q init asked.yaml' "$program")" /dev/null >out 2>err
  has out "Five questions"
  has out "of other sizes there are"
  has out "is not a whole number"
  has asked.yaml "hosts: 2"
  has asked.yaml "tokens: 1 T"
  run 0 simulate asked.yaml
fi

# A file reaches the bases of its repository, or of --root; a text from elsewhere does not.
mkdir -p repo/runs
cp "$root/scenarios/llama3-8b-8xh100.yaml" repo/base.yaml
printf 'schema: 1\nextends: ../base.yaml\nname: child\n' >repo/runs/child.yaml
run 2 simulate repo/runs/child.yaml
has err "leads out of the scenario's folder"
run 0 simulate repo/runs/child.yaml --root repo
has out "child: FITS"
run 2 simulate repo/runs/child.yaml --root nowhere
has err "--root 'nowhere' is not a folder"
mkdir repo/.git
run 0 simulate repo/runs/child.yaml
run 0 compare repo/runs/child.yaml repo/base.yaml
run 0 sweep repo/runs/child.yaml --vary training.micro_batch=1,2
run 4 check repo/runs
run 0 plan repo/base.yaml --top 1 --emit 1 repo/runs/best.yaml
has repo/runs/best.yaml "extends: ../base.yaml"
run 0 simulate repo/runs/best.yaml
cd repo/runs || exit 1
"$program" simulate - <child.yaml >../../out 2>../../err && fail "standard input reaches a repository"
"$program" simulate - --root .. <child.yaml >../../out 2>../../err || fail "--root does not reach it"
cd ../.. || exit 1

# Doctor.
run 0 doctor
is_empty err
is_narrow out
for part in "Core" "Event engine" "Places to write to" "Forecasts work"; do
  has out "$part"
done
for part in "Chakra traces" "MPI" "desktop program"; do has out "$part"; done
run 0 doctor --json
is_json out
has out '"core_works": true'
has out '"left_out": ['
# The program alone has no plug-ins, and names them.
mkdir alone
cp "$program" alone/foretrain
FORETRAIN_DATA_DIR=$root PATH=/usr/bin:/bin alone/foretrain doctor >out 2>err || fail "alone: $?"
grep -A1 '^Left out of this installation:' out | tr '\n' ' ' >list
for part in SimGrid MPI "desktop program"; do has list "$part"; done
has out "libopenmpi-dev"
has out "qt6-base-dev"
# A spoilt catalog file is told, and forecasts go on.
mkdir -p data/models data/topologies data/calibration
cp -r "$root/models/catalog" data/models/
cp -r "$root/topologies/catalog" data/topologies/
cp -r "$root/calibration/profiles" "$root/calibration/fits" data/calibration/
echo 'layrs: 1' >>data/models/catalog/llama2-7b.yaml
FORETRAIN_DATA_DIR=$work/data run 0 doctor
has out "catalog file"
has out "llama2-7b of models is refused"
FORETRAIN_DATA_DIR=$work/data run 0 show models
has out "Cannot be used"
has out "Llama 2 70B"
FORETRAIN_DATA_DIR=$work/data run 2 show models llama2-7b
has err "layrs: unknown key"
FORETRAIN_DATA_DIR=$work/data run 0 init - --model llama3-8b --host dgx-h100 --hosts 1 --tokens 1T
FORETRAIN_DATA_DIR=$work/data run 2 init - --model llama2-7b --host dgx-h100 --hosts 1 --tokens 1T
has err "layrs: unknown key"
# A GPU that no catalog has: what the messages say works.
mkdir -p mine/devices mine/hosts mine/device-profiles
sed 's/^name: b200$/name: c300/' "$root/topologies/catalog/devices/b200.yaml" >mine/devices/c300.yaml
sed 's/^name: dgx-b200$/name: my-c300/; s/^device: b200$/device: c300/' \
  "$root/topologies/catalog/hosts/dgx-b200.yaml" >mine/hosts/my-c300.yaml
new=(init - --model llama3-8b --host my-c300 --hosts 1 --tokens 1T --catalog mine)
run 2 "${new[@]}"
has err "there is no device profile 'c300'"
has err "DIR/device-profiles/c300.yaml"
sed 's/^name: b200$/name: c300/; s/^device: b200$/device: c300/' \
  "$root/calibration/profiles/device/b200.yaml" >mine/device-profiles/c300.yaml
run 0 "${new[@]}"
has out "host: my-c300"
FORETRAIN_DATA_DIR=$work/nowhere run 1 doctor
has out "broken"
has out "FORETRAIN_DATA_DIR"
FORETRAIN_DATA_DIR=$work/nowhere run 1 doctor --json
has out '"core_works": false'
TMPDIR=$work/none run 0 doctor
has out "TMPDIR"

# The program without its plug-in, as its package brings it.
mkdir -p alone/bin
cp "$program" alone/bin/foretrain
whole=$program
program=$work/alone/bin/foretrain
run 0 simulate "$scenario" --engine path
for command in simulate collective; do
  words=(simulate "$root/scenarios/effects/base.yaml" --engine event)
  [[ $command == simulate ]] || words=(collective --op all_reduce --hosts 2 --host dgx-h100)
  run 2 "${words[@]}"
  has err "package foretrain-event"
  lacks err "internal error"
done
run 0 doctor
has out "no foretrain_simgrid.so"
program=$whole

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
