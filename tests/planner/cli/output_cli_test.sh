#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing is lost: inputs are never written over, other people's files only with --force, and what
# cannot be written is a sentence. Nothing that a file or an argument holds acts on its reader.
# usage: output_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"

small=$root/scenarios/llama3-8b-8xh100.yaml
cp "$small" x.yaml
cp "$small" keep
unchanged() { cmp -s x.yaml keep || { fail "x.yaml was written over: $*"; cp keep x.yaml; }; }

# --- an output that is an input ------------------------------------------------------------------
reads() {
  run 2 "$@"
  has err 'this command reads that file'
  is_empty out
  unchanged "$@"
}
ln -s x.yaml link.yaml
ln x.yaml hard.yaml
ln -s x.yaml x.svg
ln -s x.yaml x.json
for out in x.yaml ./x.yaml link.yaml hard.yaml; do
  reads simulate x.yaml --out "$out"
  reads simulate x.yaml --out "$out" --force
done
reads simulate x.yaml --gantt x.svg
reads simulate x.yaml --trace x.json
reads simulate x.yaml --power x.svg
reads simulate x.yaml --engine event --heat x.svg
reads fit x.yaml --svg x.svg
reads fit x.yaml --out x.yaml
reads goodput x.yaml --svg x.svg
reads goodput x.yaml --out x.yaml
reads plan x.yaml --out x.yaml
reads plan x.yaml --emit 1 x.yaml
reads compare "$scenario" x.yaml --out x.yaml
reads report "$scenario" x.yaml --html x.yaml
reads report x.yaml --markdown x.yaml
reads solve x.yaml headroom --out x.yaml
reads sensitivity x.yaml --svg x.svg
reads sensitivity x.yaml --out x.yaml
reads sweep x.yaml --vary parallel.zero=0,1 --out x.yaml
reads procure --cluster x.yaml --workload x.yaml --out x.yaml
reads collective --scenario x.yaml --out x.yaml
reads check x.yaml --junit x.yaml
reads check x.yaml --sarif x.json
reads check x.yaml --markdown x.yaml
reads show fabric x.yaml --svg x.svg
for kind in megatron megatron-bridge deepspeed torchtitan nanotron sbatch simgrid dot nccl-tuner; do
  reads export "$kind" x.yaml -o x.yaml
done
reads export sbatch x.yaml -o x.yaml --force
for framework in megatron deepspeed torchtitan nanotron nemo; do
  reads import "$framework" x.yaml --out x.yaml
done
reads import megatron x.yaml --out x.yaml --force
reads import hf x.yaml --out x.yaml
reads calibrate check x.yaml --out x.yaml
run 2 simulate - --out x.yaml <x.yaml
has err 'this command reads that file'
unchanged 'standard input'
# A file that is read on the way, whatever --force says.
printf 'schema: 1\nextends: x.yaml\nname: child\n' >child.yaml
run 2 simulate child.yaml --out x.yaml --force
has err 'this command reads that file'
unchanged extends
run 2 simulate x.yaml --out both.svg --gantt both.svg
has err 'name the same file'
[[ ! -e both.svg ]] || fail 'two outputs went into one file'

# --- files of others, and our own ------------------------------------------------------------------
echo 'my notes' >notes
cp notes mine
run 2 simulate x.yaml --out notes
has err 'notes is there already, and Foretrain did not write it; --force replaces it'
is_empty out
cmp -s notes mine || fail 'somebody else'"'"'s file was replaced'
run 0 simulate x.yaml --out notes --force
has notes 'FITS'
for file in data.json data.csv data.svg data.html; do
  printf '{"mine": 1, "of": "foretrain"}\n<svg/>\na,b\r\n1,2\r\n' >"$file"
  cp "$file" mine
  run 2 simulate x.yaml --csv --out "$file"
  has err 'is there already'
  cmp -s "$file" mine || fail "$file was replaced"
done
twice() {
  local file=$1
  shift
  run 0 "$@"
  run 0 "$@"
  printf 'my notes\n' >>"$file"
}
twice a.txt simulate x.yaml --out a.txt
run 2 simulate x.yaml --out a.txt  # somebody has written into it
twice a.json simulate x.yaml --json --out a.json
twice a.csv simulate x.yaml --csv --out a.csv
twice a.md simulate x.yaml --markdown --out a.md
twice a.svg simulate x.yaml --gantt a.svg --json
twice a.power.csv simulate x.yaml --power a.power.csv --json
twice a.trace.json simulate x.yaml --trace a.trace.json --json
twice a.json.gz simulate x.yaml --trace a.json.gz --json
twice m.svg fit x.yaml --svg m.svg
twice r.html report x.yaml --html r.html
twice r.md report x.yaml --markdown r.md
twice s.csv sweep x.yaml --vary parallel.zero=0,1 --csv --out s.csv
twice s.json sweep x.yaml --vary parallel.zero=0,1 --json --out s.json
twice c.txt collective --hosts 1 --out c.txt
twice c.csv collective --hosts 1 --csv --out c.csv
twice l.csv validate --accuracy --source all --csv --out l.csv
! grep -q "^foretrain " l.csv || fail "a table ends in words"
twice p.txt plan x.yaml --top 2 --out p.txt
"$program" check x.yaml --update >/dev/null 2>&1
twice j.xml check x.yaml --junit j.xml --sarif j.sarif --markdown j.md
run 0 check x.yaml --update
twice man/foretrain.1 man man
# What people edit stays, unless it is the same.
run 0 export sbatch x.yaml -o job.sbatch
run 0 export sbatch x.yaml -o job.sbatch
echo '# mine' >>job.sbatch
run 2 export sbatch x.yaml -o job.sbatch
has err 'job.sbatch is there already; --force replaces it'
has job.sbatch '# mine'
run 0 export sbatch x.yaml -o job.sbatch --force
lacks job.sbatch '# mine'
run 0 plan x.yaml --top 2 --emit 1 best.yaml
run 2 plan x.yaml --top 2 --emit 1 best.yaml
has err 'best.yaml is there already; --force replaces it'
run 0 plan x.yaml --top 2 --emit 1 best.yaml --force
: >empty
run 0 simulate x.yaml --out empty

# --- how a file is written ---------------------------------------------------------------------------
(umask 022 && run 0 simulate x.yaml --json --out fresh.json)
[[ $(stat -c %a fresh.json) == 644 ]] || fail "a new file has mode $(stat -c %a fresh.json)"
chmod 600 fresh.json
(umask 022 && run 0 simulate x.yaml --json --out fresh.json)
[[ $(stat -c %a fresh.json) == 600 ]] || fail "a private file became $(stat -c %a fresh.json)"
echo precious >victim
(
  # Where the draft of this very process would have been.
  ln -s "$work/victim" "planted.json.$BASHPID.part"
  exec "$program" simulate x.yaml --json --out planted.json >out 2>err
)
[[ $(<victim) == precious ]] || fail 'the draft followed a planted link'
is_json planted.json
[[ ! -L planted.json ]] || fail 'the planted link took the place of the file'
rm -f planted.json.*.part
compgen -G '*.part' >/dev/null && fail 'a draft was left behind'

# --- what cannot be written is a sentence --------------------------------------------------------------
full() {
  lacks err 'internal error'
  has err "$1"
}
status=0
"$program" simulate x.yaml >/dev/full 2>err || status=$?
: >out
((status == 1)) || fail "status $status on a full disk"
full 'cannot write to standard output: No space left on device'
for arguments in --help --version 'show models' 'fit x.yaml' 'sweep x.yaml --vary parallel.zero=0,1 --csv'; do
  # shellcheck disable=SC2086  # words
  "$program" $arguments >/dev/full 2>err && fail "$arguments: no error on a full disk"
  full 'No space left on device'
done
run 2 simulate x.yaml --out /dev/full
full 'cannot write /dev/full: No space left on device'
status=0
(ulimit -f 1 && "$program" simulate x.yaml --json --out limited.json >out 2>err) || status=$?
((status == 2)) || fail "status $status over the limit of a file's size"
full 'cannot write limited.json: File too large'
[[ ! -e limited.json ]] || fail 'half a file was left'
compgen -G '*.part' >/dev/null && fail 'half a draft was left'
run 2 simulate x.yaml --out no-such-folder/a.txt
full 'cannot write no-such-folder/a.txt: No such file or directory'
{ "$program" simulate x.yaml 2>err; echo $? >status; } | true
sleep 0.2
is_empty err

# --- nothing acts on the reader -------------------------------------------------------------------------
quiet() {
  for stream in out err "$@"; do
    ! grep -qP '\x1b|\x07|\xc2\x9b|\xe2\x80\xae' "$stream" || fail "$stream of line ${BASH_LINENO[0]} holds an escape sequence"
    ! grep -q '^::warning' "$stream" || fail "$stream of line ${BASH_LINENO[0]} holds a forged command"
  done
}
evil=$'evil\x1b]0;owned\a\n::warning file=a::b\xe2\x80\xae.yaml'
run 2 simulate "$evil"
has err 'evil\x1b]0;owned\x07\n::warning'
quiet
cp x.yaml "$evil"
for arguments in simulate fit goodput 'show fabric' show plan 'export megatron' 'export dot' 'export simgrid'; do
  # shellcheck disable=SC2086  # words
  "$program" $arguments "$evil" >out 2>err || fail "$arguments of a file with an evil name"
  quiet
done
mkdir evil
mv "$evil" evil/
run 0 check "evil/$evil" --update
run 0 check "evil/$evil" --github --junit e.xml --sarif e.sarif --markdown e.md
quiet e.xml e.sarif e.md
is_xml e.xml
is_json e.sarif
sed 's/^name: .*/name: "a\\e[2J\\n::warning::x"/' x.yaml >"evil/$evil"
run 2 check evil --github --junit e.xml --sarif e.sarif --markdown e.md
quiet e.xml e.sarif e.md
is_xml e.xml
is_json e.sarif
run 2 simulate x.yaml $'stray\x1b[31m\n::warning::x'
quiet
run 2 $'simulat\x1b[31m\n::warning::x'
quiet
run 2 simulate x.yaml $'--opt\x1b[31m\n::warning::x'
quiet
run 2 simulate x.yaml --out $'no\x1b[31m\n::warning::x/a'
quiet
run 2 show models $'x\x1b[31m\n::warning::x'
quiet
run 2 sweep $'x\x1b[31m\n::warning::x' --vary parallel.zero=0
quiet
run 2 sweep export $'x\x1b[31m\n::warning::x'
quiet
printf 'budget:\n  - {metric: "step\\e[2J.time_s", max: 1}\n' | cat x.yaml - >metric.yaml
run 2 simulate metric.yaml
quiet

# Cells that a spreadsheet would compute, and HTML in Markdown and pictures.
sed 's/^name: .*/name: "=HYPERLINK(\\"http:\/\/x\\")"/' x.yaml >formula.yaml
run 0 simulate formula.yaml --csv
has out "'=HYPERLINK("
sed 's/^name: .*/name: "<img src=x onerror=alert(1)> \& <\/text>"/' x.yaml >html.yaml
run 0 simulate html.yaml --markdown --gantt h.svg
lacks out '<img'
has out '&lt;img src=x onerror=alert(1)> &amp; '
is_xml h.svg
run 0 fit html.yaml --svg h.svg --json
is_xml h.svg

((failures == 0)) || exit 1
