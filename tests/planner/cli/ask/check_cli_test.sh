#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `foretrain check` on the command line: baselines, budgets, reports for CI.
# usage: check_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

mkdir runs
cp "$root"/scenarios/llama3-8b-8xh100.yaml runs/small.yaml
cp "$scenario" runs/large.yaml
sed -i '/^# yaml-language-server/d' runs/*.yaml

run 4 check runs
has out 'has neither a budget nor a baseline'
run 0 check runs --update
has err 'new runs/large.baseline.json'
is_json runs/large.baseline.json
run 0 check runs
has out '2 of 2 scenarios pass'

# A comment, another order and another spelling of the same values change nothing.
{ echo '# reviewed'; cat runs/large.yaml; } >new && mv new runs/large.yaml
sed -i 's/tokens: 2 T/tokens: 2000 B/' runs/large.yaml
run 0 check runs

# What a review must stop: sequences 8.4 % longer, memory 3 % up. What it must not: new comments,
# keys in another order, units spelt in another way.
mkdir review
sed '/^# yaml-language-server/d' "$root/scenarios/llama3-8b-8xh100.yaml" >review/run.yaml
run 0 check review --update
cp review/run.yaml kept.yaml
sed -i 's/sequence: 8192/sequence: 8880/' review/run.yaml
GITHUB_STEP_SUMMARY=grown.md run 4 check review --sarif grown.sarif --github --html grown.html
has grown.html "Where the memory of the heaviest stage went"
has out 'FAIL  review/run.yaml'
has out 'baseline: memory.peak_bytes: 58.9 GiB -> 60.6 GiB (+3.0 %)'
has out '::error file=review/run.yaml,title=foretrain%3A the forecast moved::'
has out 'memory.peak_bytes: 58.9 GiB -> 60.6 GiB (+3.0 %25)'
has grown.md 'Where the memory of the heaviest stage went'
has grown.md '| activations | '
has grown.sarif 'memory.peak_bytes: 58.9 GiB -> 60.6 GiB (+3.0 %)'
is_json grown.sarif
python3 - kept.yaml >review/run.yaml <<'COSMETIC'
import re, sys
text = open(sys.argv[1]).read()
blocks = re.split(r'(?m)^(?=\S)', re.sub(r'(?m)^#.*\n', '', text))
assert '  sequence: 8192\n  micro_batch: 1\n' in text and '100 B' in text
text = '# Reviewed.\n' + ''.join(reversed(blocks))
text = text.replace('  sequence: 8192\n  micro_batch: 1\n', '  micro_batch: 1  # one\n  sequence: 8192\n')
print(text.replace('tokens: 100 B', 'tokens: 0.1 T').replace('2.5 USD', '2.50 USD'), end='')
COSMETIC
! cmp -s review/run.yaml kept.yaml || fail 'the cosmetic change changed nothing'
run 0 check review --tolerance 0
has out '1 of 1 scenarios pass'

# Two sequences at a time: a readable failure, in every form.
cp runs/large.yaml kept.yaml
sed -i 's/micro_batch: 1/micro_batch: 2/' runs/large.yaml
GITHUB_STEP_SUMMARY=summary.md run 4 check runs --junit check.xml --markdown check.md --github
has out 'FAIL  runs/large.yaml'
has out 'memory.peak_bytes: '
has out '1 of 2 scenarios pass'
has out '::error file=runs/large.yaml,title=foretrain%3A the forecast moved::'
is_xml check.xml
has check.xml '<failure message="baseline: '
has check.md '| number | baseline | now | change |'
has check.md "Where the step's time went"
cmp -s check.md summary.md || fail 'the step summary is not the table'
run 0 check runs --update
has err 'updated runs/large.baseline.json'
run 0 check runs
mv kept.yaml runs/large.yaml
run 4 check runs
run 0 check runs --update

# Fewer hosts: numbers that move by some percent fail, and pass where that much is allowed.
sed -i 's/hosts: 128/hosts: 120/; s/data: 16/data: 15/; s/global_batch: 1024/global_batch: 1020/' runs/large.yaml
run 4 check runs/large.yaml
has out 'baseline: step.time_s: '
has out '; likewise '
has out '; inversely '
cp runs/large.yaml fewer.yaml
# Half of the machine: what moved for one reason is one line. (Above, ends of bands move by tenths of
# a percent, each by its own; here the ends of the energy, which hosts of unknown watts widen.)
sed -i 's/hosts: 120/hosts: 64/; s/data: 15/data: 8/; s/global_batch: 1020/global_batch: 1024/' runs/large.yaml
run 4 check runs/large.yaml
[[ $(grep -c 'baseline: ' out) -le 8 ]] || fail 'numbers that moved for one reason are not one line'
mv fewer.yaml runs/large.yaml
run 0 check runs/large.yaml --tolerance 0.5

printf 'budget:\n  - {metric: step.time_s, max: 0.001}\n' >>runs/small.yaml
run 4 check runs/small.yaml
has out 'budget: '

echo 'sped: 1' >>runs/small.yaml
run 2 check runs --junit check.xml --sarif check.sarif --github
has out 'ERROR  runs/small.yaml'
is_json check.sarif
has check.sarif '"uri": "runs/small.yaml"'
has out '::error file=runs/small.yaml,line='
is_xml check.xml
has check.xml '<error message='

# A name that is no UTF-8 leaves the reports what they are.
mkdir odd
cp review/run.yaml "$(printf 'odd/f\xff.yaml')"
run 4 check odd --junit odd.xml --sarif odd.sarif
is_xml odd.xml
is_json odd.sarif
has odd.sarif '"uri": "odd/f%FF.yaml"'

echo '{}' >runs/large.baseline.json
run 2 check runs/large.yaml
has out 'runs/large.baseline.json: is not a baseline'
run 0 check runs/large.yaml --update
run 0 check runs/large.yaml
run 2 check
run 2 check runs/none.yaml
mkdir empty
run 2 check empty
has err 'there is no scenario'
run 2 check runs --tolerance 1
run 2 check runs --engine event
run 0 check --help
has out 'commit both'

((failures == 0)) || exit 1
