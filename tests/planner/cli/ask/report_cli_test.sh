#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain report`, and opens its page in a browser: it must draw without an error, take a
# picture, print, and keep hostile names from being more than text.
# usage: report_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# Exit status 77: everything but the browser was checked; chromium is not installed.
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

# Files and standard output.
run 0 report "$scenario" --html one.html --markdown one.md
is_empty out
is_empty err
has one.md "#### Where the step goes"
run 0 report "$scenario" --html again.html
cmp -s one.html again.html || fail "two pages of one scenario differ"
run 0 report "$scenario" --html -
cmp -s one.html out || fail "standard output has another page"
run 0 report - --html piped.html <"$scenario"
run 0 report "$scenario" --html plans.html --markdown - --plans 12 --gpus 512,1024
has out "#### Best 12 by time"
run 0 report "$scenario" --set B:parallel.tensor=4 --set B:parallel.data=32 --html ab.html
run 0 report "$scenario" --engine closed-form --html closed.html
run 3 report "$scenario" --set memory.recompute=none --set parallel.tensor=1 \
  --set parallel.pipeline=1 --set parallel.sequence=false --set parallel.data=1024 --html oom.html
has err "infeasible: A: "
sed 's/^name:.*/name: "<img src=x onerror=alert(1)><script>document.title = \\"owned\\"<\/script>"/' \
  "$scenario" >hostile.yaml
run 0 report hostile.yaml --html hostile.html
lacks hostile.html "<img"
cp "$scenario" budget.yaml
printf 'budget:\n  - {metric: step.time_s, max: 1}\n' >>budget.yaml
run 4 report budget.yaml --html budget.html

# Pages of other answers: one look for all.
small=$root/scenarios/llama3-8b-8xh100.yaml
run 0 simulate "$scenario" --html simulate.html
run 0 fit "$scenario" --html fit.html
run 0 compare "$scenario" --set B:parallel.tensor=4 --set B:parallel.data=32 --html compare.html
run 0 plan "$small" --html plan.html
run 0 solve "$scenario" bandwidth --html solve.html
run 0 sensitivity "$scenario" --html sensitivity.html
run 0 goodput "$root/scenarios/llama3.1-405b-16384xh100-operations.yaml" --trials 20 --html goodput.html
run 0 procure --cluster "$scenario" "$small" --workload "$small" --html procure.html
run 0 cluster "$root/scenarios/clusters/smallest.yaml" --html cluster.html
run 0 serve "$root/scenarios/serving/gpt-oss-120b-1xh100.yaml" --html serve.html
run 0 validate --only time --source sc21 --html validate.html
run 0 sweep "$small" --vary parallel.zero=1,2,3 --html sweep.html
run 0 collective --hosts 2 --sizes 1MiB,1GiB --html collective.html
run 4 check hostile.yaml --html check.html
run 0 explain "$scenario" step --html explain.html
run 0 simulate "$small" --gantt --html chart.html
has out "one optimizer step"
has chart.html "default-src 'none'"
run 0 fit "$small" --html -
has out "</html>"
static="fit plan solve sensitivity goodput procure cluster serve validate sweep collective check explain"
for page in $static; do
  has "$page.html" "default-src 'none'"
  lacks "$page.html" "<script"
  has "$page.html" 'class="sentence"'
done

# Usage.
run 2 report "$scenario"
has err "--html FILE"
run 2 report "$scenario" --html x.html --gpus 512
has err "--plans"
run 2 report "$scenario" --html x.html --plans -1
run 0 report "$scenario" --markdown played.md --engine event
has played.md "Busiest links"
run 2 report "$scenario" --html no-such-folder/x.html
has err "cannot write"
run 2 report "$scenario" --html x.html --set C:parallel.tensor=4 --set D.x=1
run 2 report no-such.yaml --html x.html

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
if ! command -v chromium >/dev/null; then
  echo "skipped: the pages are not looked at, because chromium is not installed"
  exit 77
fi

# browse OPTION... FILE: headless, with its console on standard error.
browse() {
  local file=${!#}
  timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
    --user-data-dir="$work/browser" --virtual-time-budget=4000 --enable-logging=stderr \
    "${@:1:$#-1}" "file://$work/$file" 2>console
}
# A console line of a page, or a refused request.
quiet() { ! grep -E 'CONSOLE|Refused|net::ERR' console >&2 || fail "$1: the browser complains"; }

for page in one plans ab closed oom hostile budget simulate compare; do
  browse --dump-dom "$page.html" >"$page.dom" || fail "chromium does not open $page.html"
  quiet "$page.html"
  [[ $page == oom ]] || has "$page.dom" 'data-ready="yes"'
  # What is seen, without the script and its data.
  sed -n '/<main/,/<\/main>/p' "$page.dom" >"$page.seen"
  lacks "$page.seen" "undefined"
  lacks "$page.seen" "NaN"
done
# At the width of a telephone nothing is wider than the screen; on paper pages are few.
for page in $static one plans ab oom; do
  # A page without its policy runs a script that measures it.
  { grep -v 'Content-Security-Policy' "$page.html"
    echo '<script>document.body.dataset.wide = document.documentElement.scrollWidth;</script>'
  } >measured.html
  browse --window-size=500,900 --dump-dom measured.html >measured.dom || fail "$page.html"
  wide=$(sed -n 's/.*data-wide="\([0-9]*\)".*/\1/p' measured.dom)
  ((wide > 0 && wide <= 500)) || fail "$page.html is $wide wide on a screen of 500"
done
for page in $static one ab compare; do
  browse --no-pdf-header-footer --print-to-pdf="$work/$page.pdf" "$page.html" || fail "$page.pdf"
  sheets=$(python3 -c "
import re, sys
print(len(re.findall(rb'/Type\s*/Page[^s]', open(sys.argv[1], 'rb').read())))" "$page.pdf")
  ((sheets >= 1 && sheets <= 8)) || fail "$page.html prints on $sheets pages"
done
for part in "Where the step goes" "Memory per GPU: " "<canvas" "Where the constants come from" \
  "tensor parallel"; do
  has one.seen "$part"
done
has plans.seen "no other is both faster and smaller"
has plans.seen "Machines: time against GPU-hours"
has plans.seen "GPUs: 1,024"
# Without its script a page lacks the chart of the step, and nothing else.
sed '/<script/,$d' one.html >unscripted.html
for part in "Forecast and its band" "tokens/s" "SHA-256" "switched off here" "How busy every stage is"; do
  has unscripted.html "$part"
done
has ab.seen "What changed in the step, from A to B"
has oom.seen "OUT OF MEMORY"
lacks oom.seen "<canvas"
has budget.seen "FAIL"
lacks hostile.dom "<title>owned"
lacks hostile.dom "<img"

# Hands on the page: keys walk through the step and zoom; printing unfolds, by the style sheet.
# The policy runs the page's own script and no other, so that hands need a page without it.
cat one.html - >foreign.html <<'SCRIPT'
<script>document.body.dataset.owned = 'yes';</script>
<p id="styled" style="background: red" onclick="void 0">a stranger's</p>
SCRIPT
browse --dump-dom foreign.html >foreign.dom
lacks foreign.dom 'data-owned'
has console "Content Security Policy"
lacks one.html "unsafe-inline"
grep -v Content-Security-Policy one.html >hands.html
cat >>hands.html <<'SCRIPT'
<script>
const note = (key, value) => { document.body.dataset[key] = value; };
const press = (node, key) => node.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
const canvas = document.querySelector('canvas');
const status = document.querySelector('.status');
for (let i = 0; i < 4; ++i) press(canvas, '+');
press(canvas, 'ArrowRight');
note('pass', status.textContent);
press(canvas, 'ArrowDown');
note('below', status.textContent);
press(canvas, 'Home');
const box = canvas.getBoundingClientRect();
canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + 5}));
note('tip', document.getElementById('tip').textContent);
</script>
SCRIPT
browse --dump-dom hands.html >hands.dom
quiet hands.html
for part in 'data-tip="Stage 0: ' 'data-pass="Stage 0: ' 'data-below="Stage 1: '; do
  has hands.dom "$part"
done

echo '<!DOCTYPE html><title>empty</title>' >blank.html
for width in 1280 420; do
  browse --window-size=$width,1600 --screenshot=blank.png blank.html
  browse --window-size=$width,1600 --screenshot=page.png one.html
  quiet "one.html at $width pixels"
  (($(stat -c %s page.png) > 8 * $(stat -c %s blank.png))) || fail "the picture at $width is empty"
done
browse --no-pdf-header-footer --print-to-pdf=page.pdf one.html
head -c 5 page.pdf | grep -q '%PDF-' || fail "not a PDF"
(($(stat -c %s page.pdf) > 40000)) || fail "the PDF is empty"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
