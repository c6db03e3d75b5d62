#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain serve` and `foretrain fit --serve` as people and scripts do.
# usage: serve_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
serving=$root/scenarios/serving
chat=$serving/llama3.1-70b-8xh100.yaml
short=(--set "serving.duration=60 s" --set "serving.warm_up=5 s")

run 0 serve --help
has out "Examples:"

run 0 serve "$chat" "${short[@]}"
is_empty err
is_narrow out
for part in "time to first token" "Throughput" "Goals" "Cost" "Band"; do has out "$part"; done

# The same bytes every time, from standard input too; another seed gives other figures.
run 0 serve "$chat" "${short[@]}" --json
is_json out
has out '"schema": "serving/1"'
cp out one
run 0 serve - "${short[@]}" --json <"$chat"
cmp -s out one || fail "standard input gives another result than the file"
run 0 serve "$chat" "${short[@]}" --json --seed 2
cmp -s out one && fail "another seed gives the same result"

run 0 serve "$chat" "${short[@]}" --csv
has out "submitted_s,started_s,first_token_s,ended_s,prompt,output,preempted"

# Tokens of the CSV are those of the report.
run 0 serve "$serving/gpt-oss-120b-1xh100.yaml" --csv
cp out requests
run 0 serve "$serving/gpt-oss-120b-1xh100.yaml" --json
python3 - requests out <<'CHECK' || fail "CSV and JSON differ"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
results = json.load(open(sys.argv[2]))["results"]
assert len(rows) == results["requests"] == 640, len(rows)
tokens = sum(int(row["output"]) for row in rows) / results["counted_s"]
assert abs(tokens / results["output_tokens_per_s"] - 1) < 1e-6, tokens
assert all(float(r["submitted_s"]) < float(r["first_token_s"]) <= float(r["ended_s"]) for r in rows)
CHECK

# A trace of requests.
mkdir -p traced
cp "$chat" traced/chat.yaml
printf 'at,prompt,output\n0,100,10\n0.5,200,20\n0.5,300,30\n' >traced/requests.csv
run 0 serve traced/chat.yaml --set serving.requests.arrivals=trace \
  --set serving.requests.trace_file=requests.csv --set "serving.warm_up=0 s" --json
has out '"requests": 3'

# Fewest GPUs, and the command that it prints gives the same figures.
run 0 serve "$chat" "${short[@]}" --fewest
is_narrow out
has out "Next: foretrain serve "
run 0 serve "$chat" "${short[@]}" --fewest --json
cp out fewest
mapfile -t flags < <(python3 -c "
import json
for flag in json.load(open('fewest'))['points'][0]['overrides']: print('--set'); print(flag)")
run 0 serve "$chat" "${short[@]}" "${flags[@]}" --json
python3 - fewest out <<'CHECK' || fail "the winner fed back gives other figures"
import json, sys
search, report = (json.load(open(name)) for name in sys.argv[1:])
best = search["points"][0]
assert search["fewest_gpus"] == best["gpus"] == report["gpus"]
assert best["ttft_s"]["p90"] == report["results"]["ttft_s"]["p90"]
assert best["cost"] == report["cost"] and report["verdict"] in ("ok", "at-risk")
CHECK
run 3 serve "$chat" "${short[@]}" --fewest --set "serving.goals.tpot=0.1 ms"
run 2 serve "$serving/gpt-oss-120b-1xh100.yaml" --fewest
has err "needs goals"

run 0 fit --serve "$chat"
is_narrow out
has out "requests of"
run 0 fit --serve "$chat" --json
has out '"schema": "serving-memory/1"'
run 3 fit --serve "$chat" --set serving.parallel.tensor=1 --set serving.precision.weights=bf16
has out "out-of-memory"
run 2 fit --serve "$chat" --timeline
has err "--timeline is for scenarios of training, and this is one of serving: "

# Every command that forecasts takes what serves; who asks another is told the right one.
run 0 simulate "$chat" --brief
has out "TTFT, P90"
run 0 simulate "$chat" --json
has out '"schema": "serving/1"'
run 0 fit "$chat"
has out "A replica holds"
run 0 compare "$chat" --set B:serving.parallel.tensor=8
has out "TPOT, P90"
run 0 explain "$chat" results.ttft_s.p90
has out "first token"
run 0 sweep "$chat" --vary serving.parallel.tensor=4,8 --csv
has out "results.output_tokens_per_s_per_gpu"
run 0 solve "$chat" rate --tpot "P90 <= 40 ms"
has out "requests/s on"
run 2 solve "$chat" gpus --step "60 s"
has err "--step is for scenarios of post-training, and this is one of serving: "
run 2 plan "$chat" --top 3
has err "training and post-training, and this is one of serving"
run 2 simulate "$chat" --csv
has err "foretrain serve FILE --csv"
run 2 report "$chat" --html page.html --plans 3
has err "foretrain plan FILE"
run 2 solve "$chat" model
has err "of serving ask for gpus or rate"
run 2 goodput "$chat"
has err "foretrain serve FILE"
run 0 simulate "$root/scenarios/serving/llama3.1-70b-disaggregated-16xh100.yaml" --engine event
is_narrow out
has out "prefill 1 to decode 1"
run 2 serve "$root/scenarios/llama3-8b-8xh100.yaml"
has err "foretrain simulate FILE"
run 0 show "$chat"
run 2 serve "$chat" --json --csv
run 2 serve "$chat" --pareto --fewest
run 2 serve "$chat" --set serving.requests.rate=3
has err "rate"

((failures == 0)) || exit 1
