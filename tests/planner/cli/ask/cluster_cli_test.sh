#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain cluster` as people and scripts do.
# usage: cluster_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
clusters=$root/scenarios/clusters
smallest=$clusters/smallest.yaml

run 0 cluster --help
has out "Examples:"

for file in "$clusters"/*.yaml; do
  run 0 cluster "$file" --replications 2
  is_empty err
  is_narrow out
  for part in "Wait from submission to start" "Where host time goes" "over time"; do
    has out "$part"
  done
done

# The same on any number of threads, another queue with another seed, and from standard input.
run 0 cluster "$smallest" --replications 6 --json --threads 1
is_json out
cp out one
run 0 cluster "$smallest" --replications 6 --json --threads 3
cmp -s out one || fail "three threads give another result than one"
run 0 cluster - --replications 6 --json <"$smallest"
has out '"schema": "cluster/1"'
run 0 cluster "$smallest" --replications 6 --json --set workload.seed=2
cmp -s out one && fail "another seed gives the same result"

# The contract of issue 26, against M/M/c (Erlang C): 24 erlangs on 32 hosts, durations of 96 h.
run 0 cluster "$smallest" --json --replications 300
python3 - out <<'CHECK' || fail "the smallest file is not M/M/32"
import json, math, sys
report = json.load(open(sys.argv[1]))
only = report["classes"][0]
assert only["name"] == "single" and only["jobs"] > 1_000_000
for times in (only["wait_s"], only["turnaround_s"]):
    assert set(times) >= {"mean", "p50", "p90", "p99"}
servers, offered, mean = 32, 24.0, 96 * 3600.0
loss = 1.0
for k in range(1, servers + 1):
    loss = offered * loss / (k + offered * loss)
load = offered / servers
waits = loss / (1 - load * (1 - loss))
theory = waits * mean / (servers * (1 - load))
low, high = report["confidence"]["classes"][0]["wait_s"]["mean"]
half = (high - low) / 2
assert abs(only["wait_s"]["mean"] - theory) < 3 * half < 0.4 * theory, (only["wait_s"], theory, half)
assert abs(only["turnaround_s"]["mean"] - only["wait_s"]["mean"] - mean) < 0.01 * mean
assert abs(report["utilisation"]["allocated"] - load) < 0.005
assert abs(report["utilisation"]["productive"] - report["utilisation"]["allocated"]) < 1e-9
assert report["replications"] == 300
CHECK

# Lists are worked by hand: two hosts, EASY.
cat >hand.yaml <<'FILE'
schema: 1
cluster: {host: dgx-h100, hosts: 4}
workload:
  horizon: 1 day
  classes:
    - {name: a, arrivals: {at: [0 h]}, hosts: 3, duration: 10 h}
    - {name: b, arrivals: {at: [1 h]}, hosts: 4, duration: 10 h}
    - {name: c, arrivals: {at: [2 h]}, hosts: 1, duration: 8 h}
    - {name: d, arrivals: {at: [3 h]}, hosts: 1, duration: 15 h}
policy: {backfill: easy}
FILE
run 0 cluster hand.yaml --json
python3 - out <<'CHECK' || fail "the schedule by hand is another one"
import json, sys
report = json.load(open(sys.argv[1]))
waits = {c["name"]: c["wait_s"]["mean"] / 3600 for c in report["classes"]}
assert waits == {"a": 0, "b": 9, "c": 0, "d": 17}, waits
assert report["replications"] == 1
assert report["confidence"]["classes"][0]["wait_s"]["mean"] is None
CHECK

run 0 cluster "$clusters/university.yaml" --replications 2 --svg queue.svg --html queue.html --csv
is_xml queue.svg
has out "class,team,jobs,wait_mean_s"
has queue.html "</html>"
for part in "Waits by class" "Jobs on hosts" "vision-runs" "prefers-color-scheme: dark"; do
  has queue.html "$part"
done
python3 - queue.html <<'CHECK' || fail "the page is not what its policy says"
import base64, hashlib, re, sys
page = open(sys.argv[1]).read()
style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
name = "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
assert f"style-src '{name}'" in policy and "default-src 'none'" in policy, policy
assert "<script" not in page and " style=" not in page and not re.search(r"<[^>]* on\w+=", page)
assert not re.search(r"(src|href)=.(?!data:|#)", page)
box = r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"'
ground = re.search(box + r' fill="var\(--idle\)"/>', page)
left, top, wide, high = [float(n) for n in ground.groups()]
bars = re.findall(box + r"[^>]*><title>", page[ground.end():])
assert len(bars) > 500
for x, y, width, height in [[float(n) for n in bar] for bar in bars]:
    inside = left - 0.1 <= x and x + width <= left + wide + 0.4 and top - 0.1 <= y
    assert inside and y + height <= top + high + 0.1, (x, y, width, height)
CHECK
run 0 cluster "$clusters/university.yaml" --replications 2 --svg queue.svg --out queue.txt
is_empty out
has queue.txt "Teams"

# Other numbers of hosts, and the fewest that keep a wait.
run 0 cluster "$smallest" --hosts 26,28..36+4 --replications 20
is_narrow out
has out "waits by number of hosts"
run 0 cluster "$smallest" --wait "P90 <= 4 h" --replications 60 --json
has out '"schema": "cluster-hosts/1"'
cp out wanted
run 0 solve "$smallest" hosts --wait "P90 <= 4 h" --json
python3 - out wanted <<'CHECK' || fail "the fewest hosts are not those of Erlang C"
import json, sys
# P90 of M/M/c with 24 erlangs of 96 h: 8.4 h with 30 hosts, 2.4 h with 31.
assert [json.load(open(name))["fewest_hosts"] for name in sys.argv[1:]] == [31, 31]
CHECK
run 2 cluster "$smallest" --wait "P95 <= 4 h"
has err "P50, P90 or P99"
run 2 cluster "$smallest" --wait "many P90 <= 4 h"
has err "is not one of the classes: single"
run 2 cluster "$smallest" --hosts 0
run 2 cluster "$smallest" --hosts 3 --wait "P90 <= 4 h"
run 2 solve "$smallest" hosts
has err "--deadlines"
run 0 solve "$clusters/university.yaml" hosts --deadlines "vision-runs 95 %" --json
has out '"statistic": "deadlines"'
run 2 cluster "$smallest" --deadlines "95 %"
has err "no deadline is given for any class"
run 2 cluster "$smallest" --deadlines "95 %" --wait "P90 <= 4 h"

# Own and rented hosts, sizes of moldable jobs, energy.
cat >rent.yaml <<'FILE'
schema: 1
cluster:
  host: dgx-h100
  hosts: 8
  price: 2 USD/GPU-hour
  power: {busy: 8 kW, idle: 2 kW}
  burst: {after: 2 h, price: 5 USD/GPU-hour}
workload:
  horizon: 60 days
  classes:
    - name: tune
      arrivals: {poisson: 6 per day}
      duration: {exponential: 40 h}
      moldable: [{hosts: 1, speed: 1}, {hosts: 2, speed: 1.8}, {hosts: 4, speed: 3}]
policy: {molding: share}
FILE
run 0 cluster rent.yaml --replications 4
is_narrow out
for part in "Own and rented hosts" "Hosts that moldable jobs start with" "idle hosts"; do
  has out "$part"
done
run 0 cluster rent.yaml --hosts 4..16+4 --replications 4
is_narrow out
has out "own hosts are the cheapest"

# A model fitted to a log: written once, read back, run; what the log does not tell is asked for.
python3 - >jobs.csv <<'LOG'
import random
random.seed(3)
print("submit_s,duration_s,hosts,wait_s,team,limit_s")
time = 0.0
for i in range(3000):
    time += random.expovariate(1 / 3600)
    team = random.choice(["vision", "language"])
    print(f"{time:.0f},{random.expovariate(1 / 36000):.0f},{random.choice([1, 1, 2, 4])},60,{team},86400")
LOG
run 0 cluster fit jobs.csv --host dgx-h100 --hosts 24 --by team --out fitted.yaml
is_narrow out
has err "wrote fitted.yaml"
for part in "Arrivals" "KS" "exponential" "language" "time limits"; do
  has out "$part"
done
run 0 cluster fitted.yaml --replications 2 --json
has out '"schema": "cluster/1"'
has out '"name": "vision"'
run 2 cluster fit jobs.csv --host dgx-h100 --hosts 24 --out fitted.yaml
has err "--force"
run 0 cluster fit --host dgx-h100 --hosts 24 --by team,size jobs.csv --json
python3 - out <<'CHECK' || fail "the fit is not that of the log"
import json, sys
fit = json.load(open(sys.argv[1]))
assert fit["schema"] == "cluster-fit/1" and fit["jobs"] + fit["left_out"] == 3000
assert len(fit["classes"]) == 6, [c["name"] for c in fit["classes"]]
assert sum(c["jobs"] for c in fit["classes"]) == fit["jobs"]
assert abs(sum(c["arrivals"]["per_day"] for c in fit["classes"]) - 24) < 2
assert fit["file"].startswith("# Fitted by foretrain")
CHECK
run 0 cluster fit jobs.csv --host dgx-h100
has out "in use at a time"
run 2 cluster fit jobs.csv --host dgx-h101 --hosts 24
has err "there is no host 'dgx-h101'"
run 2 cluster fit jobs.csv --hosts 24
has err "--host is required"
run 2 cluster fit jobs.csv --host dgx-h100 --by user
has err "is not one of team, queue, size"
run 2 cluster fit jobs.csv --host dgx-h100 --hosts 2
has err "can never start"
printf 'submit_s,duration_s,hosts\n0,x,1\n' >wrong.csv
run 2 cluster fit wrong.csv --host dgx-h100
has err "wrong.csv:2:1: duration_s: 'x'"
run 2 cluster fit no-such-log --host dgx-h100
run 2 cluster
has err "which file?"

# Bad input: file, line, key.
run 2 cluster "$smallest" --set cluster.hosts=0
has err "cluster.hosts"
run 2 cluster "$smallest" --set policy.order=lifo
has err "did you mean 'fifo'?"
run 2 cluster no-such-file.yaml
run 2 cluster "$smallest" --json --csv
run 2 cluster "$smallest" --replications 0
run 2 cluster "$smallest" --set workload.horizon="20000 years"
has err "too large"
run 2 cluster "$scenario"
has err "workload: required key is missing"

# The first signal ends it with what is known.
stopped 1 cluster "$smallest" --replications 5000 --json
has out '"stopped": true'
is_json out

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
