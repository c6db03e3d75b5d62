#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `calibrate fit --runs`, `calibrate suggest`, `validate --check` and `--profiles` as people do.
# usage: own_runs_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

# Three runs of a source that no fit reads, whose network is slower than the default.
python3 - "$root/calibration/measured/public_runs.yaml" >mine.yaml <<'PY'
import re, sys
text = open(sys.argv[1]).read()
runs = re.split(r"\n(?=\s*- id: )", text[text.index("runs:") + 5 :])
wanted = ("yafsdp-llama2-7b-64g-2048", "yafsdp-llama2-13b-128g-4096", "yafsdp-llama2-34b-128g-2048")
print("schema: 1\nruns:")
print("\n".join(run for run in runs if any(name in run for name in wanted)))
PY

# Fitted: before and after, left out in turn, profiles that are like the shipped ones.
run 0 calibrate fit --runs mine.yaml --out own
is_narrow out
for part in "yafsdp-llama2-34b-128g-2048" "AFTER THE FIT" "left out" "Constants that moved" "across.share" \
  "undetermined"; do has out "$part"; done
for file in own/stack/fsdp2.yaml own/site/default.yaml; do
  has err "wrote $file"
  has "$file" "like: "
  has "$file" "deviations:"
done
lacks own/site/default.yaml "send_share"
echo "# mine" >>own/site/default.yaml
rm own/stack/fsdp2.yaml
run 2 calibrate fit --runs mine.yaml --out own
has err "own/site/default.yaml"
[[ -e own/stack/fsdp2.yaml ]] && fail "one profile was written beside one that was refused"
run 0 calibrate fit --runs mine.yaml --out own --force
lacks own/site/default.yaml "# mine"
run 0 calibrate fit --runs mine.yaml --json
is_json out
has out '"schema": "own-fit/1"'

# What was fitted is forecast, and said.
run 4 validate --runs mine.yaml --only time --check
has err "slower than the forecast expects"
run 0 validate --runs mine.yaml --only time --check --profiles own
has err "profiles own before the shipped ones"
# A gate: the same runs, of no family that is known, a tenth slower together, and half slower each.
sed 's/yafsdp-/own-/; s/^  confidence/  stack: "fsdp2"\n  confidence/' mine.yaml >plain.yaml
slower() { python3 -c 'import re, sys
print(re.sub(r"(iteration_s: )([0-9.]+)", lambda m: m[1] + str(float(m[2]) * float(sys.argv[1])),
             open("plain.yaml").read()))' "$1"; }
run 0 calibrate fit --runs plain.yaml --out gate
run 0 validate --runs plain.yaml --only time --check --profiles gate
slower 1.1 >slow.yaml
run 4 validate --runs slow.yaml --only time --check --profiles gate
has err "all 3 runs together"
slower 1.5 >slow.yaml
run 4 validate --runs slow.yaml --only time --check --profiles gate
has err "own-llama2-7b-64g-2048: measured"
run 0 simulate "$scenario" --profiles own --full
has out "own/site/default.yaml"
cp out with
run 0 simulate "$scenario" --full
lacks out "own/site"
cmp -s out with && fail "profiles of one's own change nothing"
run 0 simulate "$scenario" --profiles own --json
is_json out
has out '"own_profiles"'
run 2 simulate "$scenario" --profiles no-such-folder
has err "is not a folder"
mkdir empty
run 2 plan "$scenario" --profiles empty
has err "holds no profile"

# Around other profiles; what there is not, and runs without a stack.
run 0 calibrate fit --runs mine.yaml --around stack/fsdp2-compile,site/selene
has out "stack/fsdp2-compile"
run 2 calibrate fit --runs mine.yaml --around stack/fsdp3
has err "fsdp2"
run 2 calibrate fit --runs mine.yaml --around fabric/ib
has err "is not stack/NAME"
sed 's/id: "yafsdp-/id: "own-/' mine.yaml >unnamed.yaml
run 2 calibrate fit --runs unnamed.yaml
has err "--around stack/"
run 0 calibrate fit --runs unnamed.yaml --around stack/fsdp2
run 2 calibrate fit --runs mine.yaml --write
run 2 calibrate fit --around stack/fsdp2
run 2 validate --accuracy --check

# The template of the page as it stands: a model by its name, a stack, one speed.
sed -n '/^```yaml$/,/^```$/p' "$root/docs/how-to/share-your-runs.md" | sed '/^```/d' >template.yaml
run 0 validate --runs template.yaml
has out "mysite"
lacks out "not stated"
run 0 validate --runs template.yaml --skipped
lacks out "mysite-llama8b-64:"
run 0 calibrate fit --runs template.yaml
has out "mysite-llama8b-64"
sed 's/name: "llama3-8b"/name: "my-model"/; /stack:/d' template.yaml >unknown.yaml
run 2 calibrate fit --runs unknown.yaml
has err "--around stack/megatron-core"
lacks err '\n'
sed 's/name: "llama3-8b"/name: "my-model"/' template.yaml >unknown.yaml
run 2 calibrate fit --runs unknown.yaml
has err "is none of the catalog's"

# The next run to measure.
run 0 calibrate suggest "$scenario" --hosts 4
is_narrow out
for part in "less of what is not known" "takes" "tells"; do has out "$part"; done
run 0 calibrate suggest "$scenario" --hosts 4 --runs mine.yaml --json
is_json out
has out '"own_runs": 3'
run 2 calibrate suggest

exit $((failures > 0))
