#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The job of .ci/gitlab and the hooks of .pre-commit-hooks.yaml as their runners would run them: the
# scripts as the YAML holds them, variables of GitLab, a server in place of GitLab's.
# usage: gitlab_job_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
python3 -c 'import yaml' 2>/dev/null || { echo 'python3-yaml is missing' >&2; exit 77; }

# The lines of a script of the job, and the job's variables as a runner exports them.
python3 - "$root/.ci/gitlab/foretrain.gitlab-ci.yml" <<'PARTS'
import shlex, sys, yaml
job = yaml.safe_load(open(sys.argv[1]))["foretrain"]
open("script", "w").write("set -e\n" + "\n".join(job["script"]) + "\n")
open("before", "w").write("set -e\n" + "\n".join(job["before_script"]) + "\n")
with open("variables", "w") as out:
    for name, value in job["variables"].items():
        out.write(f"export {name}={shlex.quote(str(value))}\n")
reports = job["artifacts"]
assert reports["when"] == "always" and reports["paths"] == ["$FORETRAIN_REPORTS"]
assert reports["reports"]["junit"] == "$FORETRAIN_REPORTS/check.xml"
PARTS

# job EXPECTED_STATUS [VARIABLE=VALUE...]: before_script and script, in a shell as GitLab's images have.
job() {
  local expected=$1 status=0
  shift
  env PATH="$work/path:$PATH" "$@" sh -c '. ./variables; . ./before; . ./script' >out 2>err || status=$?
  ((status == expected)) || fail "status $status instead of $expected"
}

mkdir path scenarios
ln -s "$program" path/foretrain
cat >path/curl <<'CURL'
#!/bin/sh
printf '%s\n' "$@" >"$WORK/sent"
cat >"$WORK/body"
CURL
chmod +x path/curl
export WORK=$work
sed '/^# yaml-language-server/d' "$root/scenarios/llama3-8b-8xh100.yaml" >scenarios/small.yaml
run 0 check scenarios --update
request=(FORETRAIN_COMMENT_TOKEN=secret CI_MERGE_REQUEST_IID=7 CI_PROJECT_ID=3 CI_API_V4_URL=https://gitlab.example/api/v4)

job 0 "${request[@]}"
is_xml foretrain-reports/check.xml
is_json foretrain-reports/check.sarif
[[ ! -e sent ]] || fail 'a comment although nothing moved'

sed -i 's/sequence: 8192/sequence: 8880/' scenarios/small.yaml
job 4
[[ ! -e sent ]] || fail 'a comment without a token'
has foretrain-reports/check.xml '<failure'
job 4 "${request[@]}"
has sent 'https://gitlab.example/api/v4/projects/3/merge_requests/7/notes'
has sent 'PRIVATE-TOKEN: secret'
# shellcheck disable=SC2016  # a code span
has body '| **memory.peak_bytes** | 60.6 GiB | was 58.9 GiB (+3.0 %) |'
lacks out secret

# GitLab may be away: the result of the check stands.
printf '#!/bin/sh\ncat >/dev/null\nexit 22\n' >path/curl
job 4 "${request[@]}"
has err 'the comment could not be written'

# Hooks: the command line that pre-commit makes of them.
hook() { # EXPECTED_STATUS ID FILE...
  local expected=$1 entry status=0
  entry=$(python3 -c 'import sys, yaml
print(next(h["entry"] for h in yaml.safe_load(open(sys.argv[1])) if h["id"] == sys.argv[2]))' \
    "$root/.pre-commit-hooks.yaml" "$2") || fail "there is no hook $2"
  # shellcheck disable=SC2086  # an entry is a command line
  PATH="$work/path:$PATH" $entry "${@:3}" >out 2>err || status=$?
  ((status == expected)) || fail "status $status instead of $expected: $entry"
}
hook 4 foretrain-check scenarios/small.yaml
hook 4 foretrain-check-all
run 0 check scenarios --update
hook 0 foretrain-check scenarios/small.yaml
hook 0 foretrain-check-all
echo 'sped: 1' >>scenarios/small.yaml
hook 2 foretrain-check scenarios/small.yaml
job 2

exit $((failures > 0))
