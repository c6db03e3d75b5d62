#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The action of .ci/github as a runner would run it: inputs as the YAML passes them, GitHub's files.
# usage: github_action_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
action=$root/.ci/github/foretrain-check

# act EXPECTED_STATUS: runs the action on FORETRAIN_SCENARIOS in this folder.
act() {
  local expected=$1 status=0
  rm -rf summary output reports
  env PATH="$work/path:$PATH" GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/summary" \
    GITHUB_OUTPUT="$work/output" FORETRAIN_REPORTS=reports FORETRAIN_TOLERANCE=0.000001 \
    FORETRAIN_SCENARIOS="$scenarios" "$action/check.sh" >out 2>err || status=$?
  ((status == expected)) || fail "status $status instead of $expected"
}

mkdir path 'my runs'
ln -s "$program" path/foretrain
sed '/^# yaml-language-server/d' "$root/scenarios/llama3-8b-8xh100.yaml" >'my runs/small.yaml'
cp 'my runs/small.yaml' kept.yaml
"$program" check 'my runs' --update >/dev/null 2>&1
scenarios=$'my runs\n\n'

act 0
has output 'moved=false'
has output 'reports=reports'
has summary '1 of 1 scenarios pass'
is_xml reports/check.xml
is_json reports/check.sarif

sed -i 's/sequence: 8192/sequence: 8880/' 'my runs/small.yaml'
act 4
has output 'moved=true'
has out '::error file=my runs/small.yaml,title=foretrain%3A the forecast moved::'
# shellcheck disable=SC2016  # a code span
has summary '| **memory.peak_bytes** | 60.6 GiB | was 58.9 GiB (+3.0 %) |'
has reports/check.sarif '"uri": "my%20runs/small.yaml"'
cmp -s reports/check.md summary || fail 'the step summary is not the table'

echo 'sped: 1' >>'my runs/small.yaml'
act 2
has output 'moved=false'
has out '::error file=my runs/small.yaml,line='

# One that is named like an option is still a file.
cp kept.yaml -- -update.yaml
scenarios='-update.yaml'
act 4
has out 'neither a budget nor a baseline'

scenarios=''
act 2
has err 'the input scenarios is empty'
scenarios='my runs'
mv path/foretrain path/elsewhere
if ! command -v foretrain >/dev/null; then
  act 2
  has err 'foretrain is not installed'
fi
mv path/elsewhere path/foretrain
FORETRAIN_PACKAGE=none.deb act 2
has err "there is no package 'none.deb'"

# The YAML passes what the script reads, and declares what it writes.
for name in SCENARIOS TOLERANCE PACKAGE REPORTS; do
  has "$action/action.yml" "FORETRAIN_$name: \${{ inputs.${name,,} }}"
  has "$action/check.sh" "FORETRAIN_$name"
done
for name in reports moved; do
  has "$action/action.yml" "\${{ steps.check.outputs.$name }}"
done
for input in $(sed -n '/^        with:/,/^      - /s/^          \([a-z]*\):.*/\1/p' \
  "$root/.ci/github/foretrain.yml" | head -2); do
  has "$action/action.yml" "  $input:"
done

((failures == 0)) || exit 1
