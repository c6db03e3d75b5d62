#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `foretrain sweep` on the command line: answers, errors, exit codes, the Slurm script.
# usage: sweep_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

grid=(--vary 'parallel.tensor=2,4,8' --vary 'training.micro_batch=1..2')

# --- answers -----------------------------------------------------------------------------------
run 0 sweep "$scenario" "${grid[@]}"
has out 'ok, '
has out 'of 6 points'
has out 'Least step.time_s'
has err 'parallel.data follows from the machine'
is_narrow out

run 0 sweep "$scenario" "${grid[@]}" --metrics mfu
has out 'Most mfu'
awk '/^Most mfu$/ { getline; rows = 1; next } rows && NF { if (last != "" && $NF > last) exit 1; last = $NF }' out ||
  fail 'MFU is not sorted best first'

run 0 sweep "$scenario" "${grid[@]}" --metrics run.goodput
has out 'run.goodput is unknown at every point'

# On the fabric: a point is what simulate says there.
small=$root/scenarios/effects/ecmp-collision.yaml
run 0 simulate "$small" --engine event --set simulation.seed=2 --json
expected=$(python3 -c 'import json; print(json.load(open("out"))["step"]["time_s"])')
run 0 sweep "$small" --vary simulation.seed=1,2 --engine event --metrics step.time_s --csv -j 2
[[ $(tail -n +3 out | cut -d, -f7 | tr -d '\r') == "$expected" ]] ||
  fail "event: the sweep is not what simulate says, $expected"

run 0 sweep "$scenario" "${grid[@]}" --csv --metrics step.time_s,memory.stages.0.peak_bytes
has out 'point,hash,status,rule,reason,parallel.tensor,training.micro_batch,step.time_s,memory.stages.0.peak_bytes'
[[ $(wc -l <out) == 7 ]] || fail 'not a row per point'

run 0 sweep "$scenario" "${grid[@]}" --json --engine path --out result.json
is_empty out
is_json result.json
has result.json '"schema": "sweep/1"'

# A point is what simulate says.
run 0 simulate "$scenario" --set parallel.tensor=4 --set parallel.data=32 --json
expected=$(python3 -c 'import json; print(json.load(open("out"))["step"]["time_s"])')
run 0 sweep "$scenario" --vary parallel.tensor=4 --metrics step.time_s --csv
[[ $(tail -n 1 out | tr -d '\r') == *,"$expected" ]] || fail "not simulate's step time $expected"

run 0 sweep - --vary parallel.zero=1,2 --csv <"$scenario"
has out ',ok,'

# Data ranks that are asked for stay, and contradictions are rows.
run 0 sweep "$scenario" --vary parallel.tensor=4,8 --set parallel.data=16 --csv
has out 'times data 16 is 512 GPUs, but the cluster has 1024'
lacks err 'follows'

# --- errors ------------------------------------------------------------------------------------
refused() {
  local words=$1
  shift
  run 2 sweep "$@"
  has err "$words"
  is_empty out
}
refused 'which scenario?'
refused 'nothing varies' "$scenario"
refused "'parallel.tensr' is not a key of a scenario; did you mean 'parallel.tensor'?" "$scenario" --vary parallel.tensr=1
refused 'has no value to try' "$scenario" --vary parallel.tensor=
refused 'is varied twice' "$scenario" --vary parallel.zero=1 --vary parallel.zero=2
refused 'holds memory.recompute.layers' "$scenario" --vary memory.recompute=none --vary memory.recompute.layers=1
refused 'at most 10,000,000 can be swept' "$scenario" --vary training.global_batch=1..99999 --vary training.sequence=1..99999
refused "--vary: parallel.tensor: 'x' is not an integer" "$scenario" --vary parallel.tensor=1,x
refused 'is not a number of the forecast' "$scenario" "${grid[@]}" --metrics speed
refused 'is not I/N' "$scenario" "${grid[@]}" --shard 3/2
refused 'is not I/N' "$scenario" "${grid[@]}" --shard 0/2
refused '--workers takes 1 to 512' "$scenario" "${grid[@]}" -j 0
refused 'seconds above 0' "$scenario" "${grid[@]}" --timeout 0
refused 'give its file' "$scenario" "${grid[@]}" --resume
refused 'unable to open' "$scenario" "${grid[@]}" --db nowhere/x.sqlite
refused 'no.yaml: no such file' no.yaml "${grid[@]}"
echo 'no database at all, but text' >plain
refused 'not a database' "$scenario" "${grid[@]}" --db plain --resume
sqlite3 tables.sqlite 'CREATE TABLE mine(a)'
refused 'holds other tables' "$scenario" "${grid[@]}" --db tables.sqlite --resume
run 0 sweep "$scenario" "${grid[@]}" --db one.sqlite
refused '--resume continues it' "$scenario" "${grid[@]}" --db one.sqlite
refused 'holds another sweep' "$scenario" --vary parallel.zero=1 --db one.sqlite --resume
refused 'another scenario' "$scenario" "${grid[@]}" --set training.sequence=2048 --db one.sqlite --resume
printf 'schema: 1\nsped: 1\n' >bad.yaml
refused 'bad.yaml:2:1: sped: unknown key' bad.yaml "${grid[@]}"
refused 'is not a file' export none.sqlite
refused 'is there already' merge one.sqlite one.sqlite
refused 'takes the new file' merge two.sqlite
# Under an mpirun, without the part that is linked with MPI.
cp "$program" alone
PMI_RANK=0 PMI_SIZE=2 ./alone sweep "$scenario" "${grid[@]}" >out 2>err
(($? == 2)) || fail 'no refusal without MPI'
has err 'was built without MPI'

# --- partial results -----------------------------------------------------------------------------
run 0 sweep "$scenario" "${grid[@]}" --db part.sqlite --shard 1/2
run 6 sweep export part.sqlite --csv
run 6 sweep merge half.sqlite part.sqlite
has err '3 missing of 6 points'
run 0 sweep "$scenario" "${grid[@]}" --db part.sqlite --resume --timing
has err '3 points in'
run 0 sweep "$scenario" "${grid[@]}" --db part.sqlite --resume --timing
has err '0 points in'
[[ $(sqlite3 part.sqlite .dump) == "$(sqlite3 one.sqlite .dump)" ]] || fail 'a resumed result differs'

# A point that takes too long is one failed row, and the result is partial. Each takes the event
# engine hundreds of times the limit.
large=$(dirname "$scenario")/llama3.1-405b-16384xh100.yaml
run 6 sweep "$large" --vary training.global_batch=32768,65536 --engine event --timeout 0.001 --csv
has out ',failed,time-out,took longer than 0.001 s,'
has err 'partial: '

# Ctrl-C: what is known, and the result can go on.
big=(--vary training.global_batch=16..262144+16 --vary parallel.zero=0..3 --db int.sqlite)
"$program" sweep "$scenario" "${big[@]}" >out 2>err &
sweep=$!
for _ in $(seq 200); do
  (($(sqlite3 int.sqlite 'SELECT count(*) FROM points' 2>/dev/null || echo 0) > 0)) && break
  sleep 0.05
done
kill -INT "$sweep"
wait "$sweep"
status=$?
((status == 130)) || fail "status $status after Ctrl-C"
has out 'missing of 65,536'
(($(sqlite3 int.sqlite 'SELECT count(*) FROM points') > 0)) || fail 'nothing was kept'

# A bar with rate and time left, on a terminal's standard error only, and not under NO_COLOR.
cat >terminal.py <<'PYTHON'
import os, pty, sys
ours, theirs = pty.openpty()
child = os.fork()
if child == 0:
    os.dup2(theirs, 2)
    os.execv(sys.argv[1], sys.argv[1:])
os.close(theirs)
text = b""
while True:
    try:
        piece = os.read(ours, 4096)
    except OSError:
        break
    if not piece:
        break
    text += piece
sys.stdout.buffer.write(text)
PYTHON
bar=(sweep "$scenario" --vary 'training.global_batch=16..80000+16' --vary parallel.zero=0,1 -j 1 --out /dev/null)
python3 terminal.py "$program" "${bar[@]}" >out 2>err
grep -qE '\[#* *\] [0-9,]+ of 10,000, [0-9.,]+/s, [0-9.]+ m?s left' out || fail 'no bar on a terminal'
NO_COLOR=1 python3 terminal.py "$program" "${bar[@]}" >out 2>err
lacks out ' left'

# --- Slurm -----------------------------------------------------------------------------------------
run 0 sweep "$scenario" "${grid[@]}" --set 'name="it'"'"'s $HOME"' --emit sbatch --tasks 3 -j 2
cp out array.sh
bash -n array.sh || fail 'bash cannot read the script'
has array.sh '--array=1-3'
has array.sh '#SBATCH --cpus-per-task=2'
# An sbatch that runs jobs at once: the array, then the job after it.
cat >sbatch <<'FAKE'
#!/usr/bin/env bash
[[ $1 == --parsable ]] && echo '77;here' && shift
case $1 in
  --array=1-*) last=${1#--array=1-}; shift
    for ((i = 1; i <= last; ++i)); do SLURM_ARRAY_TASK_ID=$i bash "$@" >&2; done ;;
  --dependency=afterany:77) shift; bash "$@" ;;
  *) exit 9 ;;
esac
FAKE
chmod +x sbatch
PATH=$PWD:$PATH FORETRAIN=$program bash array.sh >out 2>err || fail "the array's script failed"
merged=$(basename "${scenario%.yaml}" | tr -c 'a-zA-Z0-9\n' '-')-sweep.sqlite
[[ $(sqlite3 "$merged" 'SELECT count(*) FROM points') == 6 ]] || fail 'the array did not do all points'
run 2 sweep "$scenario" "${grid[@]}" --emit sbatch --db x.sqlite
run 2 sweep "$scenario" "${grid[@]}" --emit slurm
run 2 sweep "$scenario" "${grid[@]}" --tasks 4

run 0 sweep --help
has out 'mpirun -n 32 foretrain sweep'

((failures == 0)) || exit 1
