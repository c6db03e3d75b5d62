#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives the real program as people and scripts do.
# usage: cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"

# Version, help, and the lack of a command.
run 0 --version
has out "foretrain "
grep -qE '^data of 20[0-9]{2}-[0-9]{2}-[0-9]{2}: ' "$work/out" || fail "--version names no day of the data"
FORETRAIN_DATA_DIR=/nonexistent run 0 --version
has out "data not found: /nonexistent"
run 0 --help
has out "Examples:"
has out "simulate"
for command in simulate show explain; do
  run 0 "$command" --help
  has out "Examples:"
  is_empty err
done
run 2
is_empty out
has err "foretrain: no command is given (commands: init, plan, "
has err "see foretrain --help"
run 0 --help
for group in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' out); do
  "$program" "$group" --help 2>/dev/null | grep -q ' SUBCOMMAND' || continue
  groups+=("$group")
  run 2 "$group"
  is_empty out
  has err "foretrain: $group: no command is given (commands: "
  has err "see foretrain $group --help"
done
[[ ${groups[*]} == *import* ]] || fail "import is no group of commands"
run 2 import megatrn run.sh
has err "foretrain: import: there is no command 'megatrn' (commands: hf, "
has err "did you mean 'megatron'"
run 2 import --magic
has err "foretrain: import: no command is given (commands: hf, "
run 2 calibrate fit --magic
has err "see foretrain calibrate fit --help"

# Usage errors: status 2, nothing on stdout, the nearest name on stderr.
run 2 simluate "$scenario"
is_empty out
has err "did you mean 'simulate'"
run 2 simulate
run 2 simulate "$scenario" --jsn
has err "did you mean '--json'"
run 2 simulate "$scenario" --json --csv
run 2 simulate no-such-file.yaml
has err "no-such-file.yaml"
has err "1 error"
run 2 check "$scenario" --engine event
has err "--engine event is for simulate"
run 0 explain "$scenario" step --engine event
has out "event"
run 0 simulate "$scenario" --engine event
has out "Busiest links"
has err "simulated 2 of 16 data replicas"
run 0 simulate "$scenario" --engine event --unfold --seed 7 --json
has out '"engine": "event"'
cp out unfolded
run 0 simulate "$scenario" --engine event --unfold --seed 7 --json
cmp -s out unfolded || fail "the same seed gives other bytes"
run 0 simulate "$scenario" --engine event --heat heat.svg --json
is_xml heat.svg
run 2 simulate "$scenario" --engine event --heat heat.png
run 0 simulate "$scenario" --engine event --replay replay.html --json
has replay.html 'id="replay"'
python3 - replay.html <<'REPLAY' || fail "the replay has no frames of its lines"
import json, re, sys
page = open(sys.argv[1]).read()
assert not re.search(r'(src|href)="(?!data:|#)', page)
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
frames, fabric = data["replay"]["sides"][0]["frames"], page.split('id="fabric-A"')[1]
assert len(frames) == 240 and {len(frame) for frame in frames} == {fabric.count("<line ")}
assert any("z" in frame for frame in frames) and len(set(frames)) > 10
REPLAY
run 0 compare "$scenario" --set B:simulation.routing=ecmp --engine event --replay both.html --json
python3 - both.html <<'REPLAY' || fail "the replay of two steps does not run by one clock"
import json, re, sys
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
played = data["replay"]
assert [side["side"] for side in played["sides"]] == ["A", "B"] and page.count('class="step"') >= 2
assert played["seconds"] == max(side["seconds"] for side in played["sides"])
assert 'id="fabric-A"' in page and 'id="fabric-B"' in page
REPLAY
run 2 compare "$scenario" --set B:simulation.routing=ecmp --replay both.html
has err "--engine event"
run 2 simulate "$scenario" --engine event --replay replay.svg
has err ".svg"
run 2 simulate "$scenario" --unfold
has err "--engine event"
run 2 simulate "$scenario" --engine closed-from
has err "did you mean 'closed-form'"
run 2 simulate "$scenario" --flops half
has err "full, causal"
run 2 simulate "$scenario" --set parallel.tensr=4 --set training.sequence=many
has err "did you mean"
has err "2 errors"
run 2 simulate "$scenario" --catalog no-such-folder
has err "no-such-folder"
run 2 show modells
has err "did you mean 'models'"
run 2 show models llama2-70
has err "did you mean 'llama2-70b'"
run 2 explain "$scenario" step.tim_s
has err "did you mean 'step.time_s'"
run 2 explain "$scenario" --claim "soon"
has err "understood are"
run 2 simulate "$scenario" --out no-such-folder/out.txt
has err "cannot write"

# The main job.
run 0 simulate "$scenario" --full
is_empty err
for part in "FITS" "Memory per GPU" "MFU" "dense bf16" "Where the step goes" "Time to train"; do
  has out "$part"
done
lacks out $'\x1b'
lacks out "█"
awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' out || fail "a line is wider than 80"

# Machine formats.
run 0 simulate "$scenario" --json
is_json out
cp out first
run 0 simulate "$scenario" --json
cmp -s out first || fail "two runs differ"
run 0 simulate - --json <"$scenario"
is_json out
run 0 simulate "$scenario" --csv
[[ $(wc -l <out) == 2 ]] || fail "CSV is not a header and a row"
run 0 simulate "$scenario" --markdown
has out "| MFU | "
run 0 simulate "$scenario" --json --out result.json
is_empty out
is_json result.json
cmp -s result.json first || fail "--out differs from standard output"
# What is no plain file stays what it is: a pipe here, /dev/null elsewhere.
mkfifo pipe
cat pipe >piped &
run 0 simulate "$scenario" --json --out pipe
wait
[[ -p pipe ]] || fail "--out replaced a pipe"
cmp -s piped first || fail "--out wrote something else into a pipe"
ln -s linked.json link
touch linked.json
run 0 simulate "$scenario" --json --out link
[[ -L link ]] || fail "--out replaced a link"
cmp -s linked.json first || fail "--out did not write what the link leads to"
run 0 simulate "$scenario" --set training.tokens="1 T" --flops causal --full
has out "1.00 T tokens"
has out "causal attention scores"

# A terminal gets colour and blocks, and NO_COLOR takes the colour away.
on_terminal=$(printf "%q simulate %q" "$program" "$scenario")
if command -v script >/dev/null; then
  script -qec "$on_terminal" /dev/null >out 2>err </dev/null
  has out $'\x1b['
  has out "█"
  NO_COLOR=1 script -qec "$on_terminal" /dev/null >out 2>err </dev/null
  lacks out $'\x1b['
  LANG=C script -qec "$on_terminal" /dev/null >out 2>err </dev/null
  lacks out "█"
fi

# A reader that goes away, and a disk that is full.
"$program" simulate "$scenario" 2>err | head -1 >out
is_empty err
"$program" show keys 2>err | true
is_empty err
if [[ -e /dev/full ]]; then
  "$program" simulate "$scenario" >/dev/full 2>err
  [[ $? == 1 ]] || fail "a full disk is not status 1"
  has err "cannot write to standard output: No space left on device"
fi

# Plans that cannot run.
run 3 simulate "$scenario" --set parallel.tensor=2 --set parallel.pipeline=4 \
  --set parallel.data=128 --set memory.recompute=none
has out "OUT OF MEMORY"
has out "What helps"
has out "--set"
has out "if it fit"
has out "if it fit"
run 3 simulate "$scenario" --json --set parallel.tensor=2 --set parallel.pipeline=4 \
  --set parallel.data=128 --set memory.recompute=none
is_json out
has err "infeasible: "
has out '"feasible": false'
has out '"time_s": '
has out '"id": "if-it-fit"'
run 3 explain "$scenario" step.time_s --set parallel.tensor=2 --set parallel.pipeline=4 \
  --set parallel.data=128 --set memory.recompute=none
has out "does not fit"
run 3 explain "$scenario" step --set parallel.tensor=2 --set parallel.pipeline=4 \
  --set parallel.data=128 --set memory.recompute=none
has out "what its step would be"
run 3 simulate "$scenario" --set training.global_batch=1000
has out "NOT A LEGAL PLAN"
has out "Rule"

# Budgets.
{
  cat "$scenario"
  printf 'budget:\n  - {metric: step.time_s, max: 1000}\n  - {metric: mfu, min: 0.99}\n'
} >budget.yaml
run 4 simulate budget.yaml
has out "PASS"
has out "FAIL"
run 4 simulate budget.yaml --json
is_json out
has err "FAIL  mfu is"
sed 's/min: 0.99/min: 0.01/' budget.yaml >within.yaml
run 0 simulate within.yaml
sed 's/metric: mfu/metric: mfuu/' budget.yaml >typo.yaml
run 2 simulate typo.yaml
has err "typo.yaml:$(grep -n mfuu typo.yaml | cut -d: -f1)"
has err "did you mean 'mfu'"

# Explanations and claims.
run 0 explain "$scenario"
has out "step.time_s"
run 0 explain "$scenario" mfu
has out "flops.model_per_step"
tr -d " \n" <out >joined
has joined "llama2-70b-1024xh100.yaml:"
run 0 explain "$scenario" memory.stages.0.activations_bytes --json
is_json out
run 4 explain "$scenario" --claim "2 T tokens on 1024 H100 in 7 days"
has out "impossible"
run 4 explain "$scenario" --claim "2 T tokens on 1024 H100 in 7 days" --json
is_json out
run 0 explain "$scenario" --claim "2 T tokens on 1024 H100 in 40 days"
has out "plausible"
run 2 explain "$scenario" --claim "2 T tokens on 1024 A100 in 40 days"

# Catalogs and the scenario file itself.
run 0 show "$scenario"
has out "parallel.tensor"
awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' out || fail "show is wide"
run 0 show "$scenario" --set parallel.tensor=4 --set parallel.data=32 --json
is_json out
has out "--set"
for catalog in models devices hosts links fabrics stacks sites; do
  run 0 show "$catalog"
  [[ -s out ]] || fail "show $catalog is empty"
  awk 'length($0) > 80 { print; wide = 1 } END { exit wide }' out || fail "show $catalog is wide"
  run 0 show "$catalog" --json
  is_json out
done
run 0 show models llama2-70b
has out "hidden: 8192"
run 0 show keys
has out "parallel.tensor"
run 0 show schema
is_json out

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
