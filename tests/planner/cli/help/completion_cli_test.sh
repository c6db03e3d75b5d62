#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Completes command lines as the shells do, and formats every page of the manual.
# usage: completion_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

for shell in bash zsh fish; do
  run 0 completion $shell
  is_empty err
  cp out script.$shell
done
run 2 completion tcsh
has err "bash, zsh, fish"
run 2 completion

# bash: a real completion, word by word.
bash -n script.bash || fail "bash does not read its script"
cat >complete.bash <<'SCRIPT'
source script.bash
COMP_WORDS=(foretrain "$@")
COMP_CWORD=$#
_foretrain
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
SCRIPT
# offers WORDS... -- EXPECTED...: what a line is completed with, in any order.
offers() {
  local words=()
  while [[ $1 != -- ]]; do
    words+=("$1")
    shift
  done
  shift
  bash complete.bash "${words[@]}" >out 2>err
  is_empty err
  [[ $(sort out | xargs) == $(printf '%s\n' "$@" | sort | xargs) ]] ||
    fail "completion of '${words[*]}' gives '$(xargs <out)', not '$*'"
}
offers sim -- simulate
offers simulate --engine '' -- closed-form path event
offers compare --engine '' -- closed-form path event
offers simulate --mark -- --markdown
offers simulate x.yaml --set parallel.te -- parallel.tensor=
offers calibrate f -- fit
offers validate --confidence '' -- A B C D
offers completion '' -- bash zsh fish
offers solve run.yaml he -- headroom
offers plan --top '' --
touch run.yaml "with blank.yaml"
offers fit run -- run.yaml
bash complete.bash '' >out
for name in simulate report init doctor man; do has out "$name"; done
"$program" --help | sed -n '/^Start: /,/^Examples:/s/^  \([a-z]\+\) .*/\1/p' | sort >commands
[[ -s commands ]] || fail "the help lists no commands"
bash complete.bash '' | sort | diff - commands || fail "the commands differ from those of --help"

# The others where they are installed.
if command -v zsh >/dev/null; then
  zsh -n script.zsh || fail "zsh does not read its script"
  head -n 1 script.zsh | grep -qx '#compdef foretrain' || fail "zsh would not load its script"
fi
if command -v fish >/dev/null; then
  fish -n script.fish || fail "fish does not read its script"
  HOME=$work fish -c 'source script.fish; complete -C "foretrain sim"' >out 2>/dev/null
  has out "simulate"
  HOME=$work fish -c 'source script.fish; complete -C "foretrain check --engine "' >out 2>/dev/null
  has out "closed-form"
  lacks out "event"
fi

# The manual: a page per command, each with examples, and nothing that groff warns of.
run 0 man pages
is_empty out
while read -r name; do
  [[ -s pages/foretrain-$name.1 ]] || fail "no page of the manual for $name"
  (($(sed -n '/^\.EX/,/^\.EE/p' "pages/foretrain-$name.1" | grep -c foretrain) >= 2)) ||
    fail "the help of $name has fewer than two examples"
  grep -qE '^(\.SH EXIT STATUS|Exit status: )' "pages/foretrain-$name.1" || fail "$name does not tell its exit codes"
done <commands
run 0 man
cmp -s out pages/foretrain.1 || fail "the first page differs from the one in the folder"
run 2 man run.yaml
if command -v groff >/dev/null; then
  for page in pages/*.1; do
    groff -man -Tutf8 -ww "$page" 2>warnings >formatted || fail "groff does not format $page"
    [[ ! -s warnings ]] || { cat warnings >&2; fail "groff warns of $page"; }
    [[ -s formatted ]] || fail "$page is empty"
  done
fi
if command -v man >/dev/null; then
  for page in pages/foretrain.1 pages/foretrain-plan.1; do
    MANWIDTH=80 man --warnings -E UTF-8 -l "$page" >formatted 2>warnings || continue
    [[ ! -s warnings ]] || { cat warnings >&2; fail "man warns of $page"; }
  done
fi

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
