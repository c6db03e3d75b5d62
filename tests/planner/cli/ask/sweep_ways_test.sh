#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The result of a sweep is the same whichever way it ran: with one worker, with two, killed a dozen
# times with kill -9 and resumed, with a worker killed, in merged shards, under mpirun.
# usage: sweep_ways_test.sh PROGRAM REPOSITORY_ROOT [SANITIZED]   SANITIZED: about 6,000 points, not 100,000
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

last_batch=11232  # 320 of them
[[ ${3:-} == SANITIZED ]] && last_batch=1632
# Plans that are ok, that break rules, that do not fit, and that contradict themselves; keys that
# ask the catalogs, that are groups, that change together.
grid=(
  --vary 'cluster.hosts=16,32'
  --vary 'parallel.tensor,parallel.pipeline=8:4,4:8,2:8'
  --vary 'memory.recompute=selective,{granularity: full, method: uniform, layers: 1}'
  --vary 'parallel.schedule,parallel.virtual_stages=1f1b:1,interleaved:2,1f1b:2'
  --vary "training.global_batch=1024..$last_batch+32"
  --vary 'parallel.zero=0..2'
  --vary 'training.micro_batch=1,2,4'
)
metrics=step.time_s,mfu,memory.peak_bytes,run.ideal_s
seed=${SWEEP_SEED:-$RANDOM}
echo "seed: $seed (SWEEP_SEED)"
RANDOM=$seed

# An array, not a function: what runs in the background must be the program itself.
sweep=("$program" sweep "$scenario" "${grid[@]}" --metrics "$metrics")
rows() { sqlite3 "$1" 'SELECT count(*) FROM points' 2>/dev/null || echo 0; }
digest() { sqlite3 "$1" .dump | sha256sum | cut -c 1-64; }
now() { date +%s.%N; }
# told NAME START: how long a way took.
told() { python3 -c 'import sys; print(f"{sys.argv[1]}: {float(sys.argv[3]) - float(sys.argv[2]):.1f} s")' "$1" "$2" "$(now)"; }
# same NAME: NAME.sqlite holds what one.sqlite holds.
same() { [[ $(digest "$1.sqlite") == "$expected" ]] || fail "$1: another result than with one worker"; }

start=$(now)
"${sweep[@]}" -j 1 --db one.sqlite --csv --timing --out one.csv 2>err || fail 'one worker'
told 'one worker' "$start"
cat err
points=$(rows one.sqlite)
expected=$(digest one.sqlite)
kinds=$(sqlite3 one.sqlite 'SELECT count(DISTINCT status) FROM points')
((kinds == 3)) || fail "the grid has $kinds kinds of points"
[[ ${3:-} == SANITIZED ]] || ((points >= 100000)) || fail "only $points points"
(($(sqlite3 one.sqlite 'SELECT count(DISTINCT hash) FROM points') == points)) || fail 'equal hashes'

start=$(now)
"${sweep[@]}" -j 2 --db two.sqlite --csv --out two.csv 2>err || fail 'two workers'
told 'two workers' "$start"
same two
cmp one.csv two.csv || fail 'two workers: another CSV'

# Killed up to a dozen times, at random: no row that was committed is lost, none is done again.
start=$(now)
kills=0
while ((kills < 12 && $(rows killed.sqlite) < points * 2 / 3)); do
  before=$(rows killed.sqlite)
  goal=$((before + 1 + RANDOM * points / 24 / 32768))
  "${sweep[@]}" -j 1 --db killed.sqlite --resume >out 2>err &
  pid=$!
  while (($(rows killed.sqlite) < goal)) && kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  before=$(rows killed.sqlite)
  kill -9 "$pid" || fail 'the sweep ended before it was killed'
  wait "$pid" 2>/dev/null
  kills=$((kills + 1))
  (($(rows killed.sqlite) >= before)) || fail 'a committed row is gone'
done
((kills >= 2)) || fail "killed $kills times only"
kept=$(rows killed.sqlite)
((kept < points)) || fail 'nothing was left to resume'
"${sweep[@]}" -j 2 --db killed.sqlite --resume --json --timing --out killed.json 2>err || fail 'resumed'
told "killed $kills times, $kept of $points rows kept" "$start"
fresh=$(sed -n 's/ points in .*//p' err | tr -d ,)
((fresh == points - kept)) || fail "$fresh points were done, not the $((points - kept)) that were left"
same killed
"$program" sweep export one.sqlite --json >one.json 2>err
cmp one.json killed.json || fail 'killed: another JSON'

# A worker that the system kills.
"${sweep[@]}" -j 2 --db hurt.sqlite >out 2>err &
pid=$!
while (($(rows hurt.sqlite) < 10)); do sleep 0.02; done
worker=$(pgrep -P "$pid" | head -n 1)
kill -9 "$worker"
wait "$pid" || fail 'a killed worker took the sweep along'
same hurt

start=$(now)
"${sweep[@]}" -j 1 --db shard1.sqlite --shard 1/3 >out 2>err &
"${sweep[@]}" -j 1 --db shard2.sqlite --shard 2/3 >out2 2>err2 || fail 'shard 2'
wait $! || fail 'shard 1'
"${sweep[@]}" -j 2 --db shard3.sqlite --shard 3/3 >out 2>err || fail 'shard 3'
"$program" sweep merge merged.sqlite shard3.sqlite shard1.sqlite shard2.sqlite 2>err || fail 'merging'
told 'three shards, merged' "$start"
same merged

if command -v mpirun >/dev/null && [[ -e ${program%/*}/foretrain_mpi.so ]]; then
  start=$(now)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # Every process sees the same files, and may be more than the cores that there are.
  # Open MPI frees nothing at its end, which a build with sanitizers would report.
  ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe -n 2 "${sweep[@]}" --db mpi.sqlite --csv --out mpi.csv >out 2>err || fail 'under mpirun'
  told 'mpirun -n 2' "$start"
  same mpi
  cmp one.csv mpi.csv || fail 'under mpirun: another CSV'
else
  echo 'mpirun -n 2: skipped, there is no Open MPI here'
fi

((failures == 0)) || exit 1
