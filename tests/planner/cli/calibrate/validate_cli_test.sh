#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives the Markdown, the pictures and the grades of `foretrain validate`, and checks that the
# pictures in calibration/figures are what the program draws.
# usage: validate_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
figures=$root/calibration/figures

# The pictures of the README.
run 0 validate --only time --scatter scatter.svg --residuals residuals.svg
is_empty err
has out "Step time: predicted"
for name in scatter residuals; do
  is_xml "$name.svg"
  [[ $(wc -c <"$name.svg") -lt 600000 ]] || fail "$name.svg has 600 kB or more"
  cmp -s "$name.svg" "$figures/step_$name.svg" ||
    fail "calibration/figures/step_$name.svg is stale; calibration/docs/step-time.md says how to redraw it"
done
run 0 validate --only time --csv --scatter again.svg
cmp -s scatter.svg again.svg || fail "two pictures differ"
compared=$(awk -F, 'NR > 1 && /,false,/' out | wc -l)
for name in scatter residuals; do
  [[ $(grep -o "<title>" "$name.svg" | wc -l) == "$compared" ]] ||
    fail "$name.svg has not one mark for each of $compared records"
done

# Markdown.
run 0 validate --source zb --source simumax --markdown
is_empty err
for part in "#### Step time" "| **all dense bf16/fp16** |" "#### Memory" "#### Fits or runs out"; do
  has out "$part"
done
cp out first
run 0 validate --source zb --source simumax --markdown --out report.md
is_empty out
cmp -s report.md first || fail "--out differs from standard output"
run 2 validate --markdown --json
run 2 validate --markdown --csv

# Grades.
run 0 validate --only time --source sc21 --confidence A --confidence B --csv
has out ",sc21,step_time_s,"
run 2 validate --confidence E
has err "--confidence"
run 2 validate --memory --confidence A
has err "have no grade"
run 2 validate --vtrain --confidence D
has err "no record of the confidence"

# Kernels and collectives alone.
run 0 validate --kernels
is_empty err
is_narrow out
for part in "Kernels alone, gemm bf16" "Kernels alone, flash attention" "Kernels alone: not predicted"; do
  has out "$part"
done
lacks out "Step time"
run 0 validate --collectives --source nccl-tests --csv
has out ",nccl-tests,collective_time_us,"
run 0 validate --kernels --source SimuMax --markdown
has out "#### Kernels alone"
for asked in --accuracy --ablations "--only time --peers" "--inference --source mlperf51"; do
  # shellcheck disable=SC2086  # an option and its value are two words
  run 0 validate $asked --markdown
  has out "Next: \`foretrain "
done
run 0 validate --only time --source kort --html page.html
has page.html "<svg"
has page.html "MEDIAN ERROR"
run 2 validate --kernels --confidence A
has err "have no grade"
run 2 validate --collectives --only time
has err "--only is about training runs"
run 2 validate --kernels no-such.csv
has err "no-such.csv"
printf 'id,op\n1,gemm\n' >broken.csv
run 2 validate --kernels broken.csv
has err "columns are missing"

# A folder of one's own records, under the shipped names.
mkdir records
cp "$root/calibration/measured/kernels.csv" "$root/calibration/measured/nccl_sweeps.csv" records
run 0 validate --measured records
has out "Kernels alone, gemm bf16"
lacks out "Step time"
run 0 validate --measured records --kernels
lacks out "all-reduce"
run 2 validate --measured records --runs
has err "--measured 'records' has no runs.yaml"
mkdir empty
run 2 validate --measured empty
has err "has none of runs.yaml"
run 2 validate --measured records/kernels.csv
has err "is not a folder"

# What cannot be drawn or written.
run 2 validate --source zb --scatter x.png
has err "ends in .svg"
run 2 validate --source zb --residuals x.png
has err "ends in .svg"
run 2 validate --source zb --scatter x.svg --residuals x.svg
has err "the same file"
run 2 validate --only memory --residuals x.svg
has err "show step times"
run 2 validate --memory --scatter x.svg
has err "nothing to draw"
for option in scatter residuals; do
  run 2 validate --runs --source zb "--$option" no-such-folder/x.svg
  is_empty out
  has err "cannot write no-such-folder/x.svg"
done
run 2 validate --runs --source zb --markdown --out no-such-folder/x.md
has err "cannot write no-such-folder/x.md"
[[ ! -e x.svg && ! -e x.png ]] || fail "a refused picture was written"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
