#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every output shown in a README or under docs is what the program prints, numbers to
# within a unit of their last digit (same_text.py). A block is
#   <!-- output of ./dev run -->      or      <!-- output of foretrain show models -->
#   ```
#   ...
#   ```
#   <!-- end -->
# <!-- shown: foretrain solve run.yaml batch | 4 lines from Micro-batches --> puts the command above its
# output, to be copied, and of the output only so many lines from the first that begins so; without
# the bar, all of it. Words of commands may stand in quotes.
# <!-- drawn: foretrain fit run.yaml --svg docs/pictures/memory.svg --> shows the command that draws a
# picture of the repository, the file that its last word names.
# <!-- kept in FILE --> below an end: what that command writes to standard output alone is FILE.
# A page that begins with <!-- all of it is output of COMMAND --> is what that command prints, as it is.
# usage: check_readme.sh [--update] [FORETRAIN [PAGE...]]; --update rewrites the blocks. FORETRAIN is
# the program, by default that of ./dev run; PAGE are the pages to look at, by default all.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

update=0
if [[ ${1:-} == --update ]]; then
  update=1
  shift
fi
program=${1:-build/release/bin/foretrain}
[[ -x $program ]] || { echo "no program at $program; run ./dev run first" >&2 && exit 2; }

# What the command of a block prints, both streams, as off a terminal. A plan that cannot run is
# an answer worth showing; bad usage or a crash is not.
output_of() {
  local words status=0
  mapfile -t words < <(xargs -n 1 printf '%s\n' <<<"$1")
  case "${words[0]} ${words[1]:-}" in
    './dev run')
      words=("${words[@]:2}")
      if ((${#words[@]} == 0)) || [[ ${words[0]} == -* ]]; then
        words=("$(sed -n 's/^default_scenario=//p' dev)" "${words[@]}")
      fi
      words=(simulate "${words[@]}")
      ;;
    foretrain\ *) words=("${words[@]:1}") ;;
    *) echo "a block can show './dev run' or 'foretrain', not: $1" >&2 && return 1 ;;
  esac
  NO_COLOR=1 "$program" "${words[@]}" 2>&1 </dev/null || status=$?
  case $status in
    0 | 3 | 4 | 5) ;;
    *) echo "'$1' ended with status $status" >&2 && return 1 ;;
  esac
}

# What a line "shown: COMMAND | N lines from TEXT" asks for: the command and its output, or those lines.
shown() {
  local command=${1%% | *} part='' text count=0 from=''
  [[ $1 != *' | '* ]] || part=${1#* | }
  text=$(output_of "$command") || return 1
  if [[ $part =~ ^([0-9]+)\ lines\ from\ (.+)$ ]]; then
    count=${BASH_REMATCH[1]} from=${BASH_REMATCH[2]}
    text=$(awk -v from="$from" -v count="$count" '
      !begun { line = $0; sub(/^ +/, "", line); begun = index(line, from) == 1 }
      begun && printed < count { print; ++printed }
      END { exit printed != count }' <<<"$text") ||
      { echo "'$command' prints no $count lines from '$from'" >&2 && return 1; }
  elif [[ -n $part ]]; then
    echo "after the bar stands 'N lines from TEXT', not: $part" >&2 && return 1
  fi
  folded "$command"
  # shellcheck disable=SC2016  # the backticks are Markdown's
  printf '\n```\n%s\n```\n' "$text"
}

# A command as a block to copy, its long lines continued before an option.
folded() {
  # shellcheck disable=SC2016  # the backticks are Markdown's
  printf '```sh\n%s\n```\n' "$(awk '{
    count = split($0, words, " --"); line = words[1]
    for (i = 2; i <= count; ++i) {
      if (length(line) + length(words[i]) > 84) { print line " \\"; line = "   " }
      line = line " --" words[i]
    }
    print line
  }' <<<"$1")"
}

# Pictures that commands draw.
check_drawn() {
  local line words picture
  while IFS= read -r line; do
    [[ $line == '<!-- drawn: '*' -->' ]] || continue
    line=${line#<!-- drawn: }
    mapfile -t words < <(xargs -n 1 printf '%s\n' <<<"${line% -->}")
    picture=${words[-1]}
    NO_COLOR=1 "$program" "${words[@]:1:${#words[@]}-2}" "$drawn" --force >/dev/null 2>&1 </dev/null ||
      { echo "'${line% -->}' fails" >&2 && return 1; }
    cmp -s -- "$picture" "$drawn" && continue
    if ((update)); then
      cat -- "$drawn" >"$picture"
      echo "$picture: drawn"
    elif ! tests/same_text.py "$picture" "$drawn"; then
      echo "$picture is not what '${line% -->}' draws"
      stale=1
    fi
  done <"$1"
}

# Files that hold the standard output of a block's command: `init` and what it wrote.
check_kept() {
  local line command='' words kept
  while IFS= read -r line; do
    case $line in
      '<!-- output of '*' -->') command=${line#<!-- output of } && command=${command% -->} ;;
      '<!-- kept in '*' -->')
        kept=${line#<!-- kept in } && kept=${kept% -->}
        read -ra words <<<"$command"
        NO_COLOR=1 "$program" "${words[@]:1}" 2>/dev/null </dev/null >"$fresh" || return 1
        cmp -s -- "$kept" "$fresh" && continue
        if ((update)); then
          cat -- "$fresh" >"$kept"
          echo "$kept: rewritten"
        else
          diff -u --label "$kept" --label "what '$command' writes" "$kept" "$fresh" || true
          stale=1
        fi
        ;;
    esac
  done <"$1"
}

# The file with every block freshly filled.
render() {
  local line command text inside=0
  while IFS= read -r line; do
    if [[ $line == '<!-- end -->' ]]; then
      ((inside)) || { echo "$1: an end without a block" >&2 && return 1; }
      inside=0
    fi
    ((inside)) || printf '%s\n' "$line"
    if [[ $line == '<!-- output of '*' -->' ]]; then
      ((!inside)) || { echo "$1: a block without an end" >&2 && return 1; }
      inside=1
      command=${line#<!-- output of }
      text=$(output_of "${command% -->}") || return 1
      # shellcheck disable=SC2016  # the backticks are Markdown's
      printf '```\n%s\n```\n' "$text"
    elif [[ $line == '<!-- shown: '*' -->' ]]; then
      ((!inside)) || { echo "$1: a block without an end" >&2 && return 1; }
      inside=1
      command=${line#<!-- shown: }
      shown "${command% -->}" || return 1
    elif [[ $line == '<!-- drawn: '*' -->' ]]; then
      ((!inside)) || { echo "$1: a block without an end" >&2 && return 1; }
      inside=1
      command=${line#<!-- drawn: }
      folded "${command% -->}"
    fi
  done <"$1"
  ((!inside)) || { echo "$1: a block without an end" >&2 && return 1; }
}

# The page whose first line says which command writes the rest of it.
check_whole() {
  local first words
  IFS= read -r first <"$1" || true
  [[ $first == '<!-- all of it is output of '*' -->' ]] || return 0
  blocks=$((blocks + 1))
  first=${first#<!-- all of it is output of }
  read -ra words <<<"${first% -->}"
  {
    sed -n 1p "$1"
    NO_COLOR=1 "$program" "${words[@]:1}" 2>/dev/null </dev/null
  } >"$fresh" || return 1
  cmp -s -- "$1" "$fresh" && return
  ((!update)) && tests/same_text.py "$1" "$fresh" && return
  if ((update)); then
    cat -- "$fresh" >"$1"
    echo "$1: rewritten"
  else
    diff -u --label "$1" --label "what $program prints" "$1" "$fresh" || true
    stale=1
  fi
}

fresh=$(mktemp)
drawn=$fresh.svg
trap 'rm -f -- "$fresh" "$drawn"' EXIT
blocks=0
stale=0
pages=(README.md */README.md docs/*.md docs/*/*.md calibration/docs/*.md)
(($# < 2)) || pages=("${@:2}")
# First, since other blocks show what becomes of these files.
for file in "${pages[@]}"; do check_kept "$file"; done
for file in "${pages[@]}"; do check_drawn "$file"; done
for file in "${pages[@]}"; do check_whole "$file"; done
for file in "${pages[@]}"; do
  found=$(grep -Ec '^<!-- (output of|shown:|drawn:) ' "$file" || true)
  ((found)) || continue
  blocks=$((blocks + found))
  render "$file" >"$fresh"
  cmp -s -- "$file" "$fresh" && continue
  ((!update)) && tests/same_text.py "$file" "$fresh" && continue
  if ((update)); then
    cat -- "$fresh" >"$file"
    echo "$file: rewritten"
  else
    diff -u --label "$file" --label "what $program prints" "$file" "$fresh" || true
    stale=1
  fi
done
((blocks)) || { echo 'no README shows any output' >&2 && exit 1; }
((!stale)) || echo 'to accept: tests/check_readme.sh --update'
exit "$stale"
