#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Results of sweeps that are damaged, foreign, locked or without room: a sentence each, and nothing
# of a foreign file is run.
# usage: sweep_file_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

small=$root/scenarios/llama3-8b-8xh100.yaml
grid=(--vary 'parallel.zero=0..2' --vary 'training.micro_batch=1,2')
run 0 sweep "$small" "${grid[@]}" --db good.sqlite -j 1
run 0 sweep export good.sqlite --csv
lacks out checksum
cp out good.csv

# sentence STATUS WORDS ARGUMENTS...
sentence() {
  local status=$1 words=$2
  shift 2
  run "$status" "$@"
  has err "$words"
  lacks err 'internal error'
}
# damaged SQL WORDS: a copy that the SQL has changed is refused by everything that reads it.
damaged() {
  rm -f bad.sqlite* merged.sqlite
  cp good.sqlite bad.sqlite
  sqlite3 bad.sqlite "PRAGMA writable_schema = ON; $1" >/dev/null || fail "sqlite3: $1"
  sentence 2 "$2" sweep export bad.sqlite
  sentence 2 "$2" sweep export bad.sqlite --csv
  sentence 2 "$2" sweep "$small" "${grid[@]}" --db bad.sqlite --resume
  sentence 2 "$2" sweep merge merged.sqlite bad.sqlite good.sqlite
  [[ ! -e merged.sqlite ]] || fail "merged: $1"
}

# --- rows and headers that are not what was written ----------------------------------------------
sqlite3 good.sqlite 'SELECT sql FROM sqlite_master' >schema.txt
has schema.txt 'checksum INTEGER NOT NULL'
damaged 'UPDATE points SET point = -1 WHERE point = 0' 'a row of point -1, and the grid has 6 points'
damaged 'UPDATE points SET point = 6 WHERE point = 0' 'a row of point 6, and the grid has 6 points'
damaged "UPDATE points SET status = 'fine' WHERE point = 0" "point 0 has the status 'fine'"
damaged "DELETE FROM sweep WHERE name = 'points'" 'no number of points'
damaged "DELETE FROM sweep WHERE name = 'metrics'" 'has no metrics'
damaged "DELETE FROM sweep WHERE name = 'axes'" 'has no axes'
damaged "DELETE FROM sweep WHERE name = 'schema'" 'has no schema'
damaged "UPDATE sweep SET value = '1e18' WHERE name = 'points'" 'no number of points'
damaged "UPDATE sweep SET value = '99999999999' WHERE name = 'points'" 'no number of points'
damaged "UPDATE sweep SET value = '[' WHERE name = 'axes'" 'has no axes'
damaged "UPDATE sweep SET value = '[1]' WHERE name = 'metrics'" 'has no metrics'
damaged "UPDATE sweep SET value = 'sweep/2' WHERE name = 'schema'" "in the format 'sweep/2'; this version reads 'sweep/1'"
damaged 'ALTER TABLE points DROP COLUMN checksum' 'are not those of a result'
damaged 'ALTER TABLE points ADD COLUMN more' 'are not those of a result'

# Every cell of a row counts for its checksum.
for cell in 'hash = NULL' "status = 'failed'" "rule = 'x'" "reason = 'x'" '"parallel.zero" = 7' '"step.time_s" = "step.time_s" * 1.0000001' '"step.time_s" = NULL' 'checksum = checksum + 1'; do
  damaged "UPDATE points SET $cell WHERE point = 3" 'the row of point 3 is not what was written'
done

# --- what a foreign file would run ------------------------------------------------------------------
damaged 'CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM sweep; END' "holds the trigger 't'"
damaged 'CREATE VIEW v AS SELECT 1' "holds the view 'v'"
damaged 'CREATE INDEX i ON points(abs(point))' "holds the index 'i'"
damaged "UPDATE sqlite_master SET sql = replace(sql, 'status TEXT NOT NULL', 'status TEXT NOT NULL CHECK(load_extension(1))') WHERE name = 'points'" 'bad.sqlite: '

# --- damaged pages ---------------------------------------------------------------------------------------
python3 - good.sqlite <<'PYTHON'
import random, sys
good = open(sys.argv[1], "rb").read()
random.seed(7)
for number in range(60):
    bad = bytearray(good)
    for _ in range(40):
        bad[random.randrange(len(bad))] = random.randrange(256)
    open(f"random{number}.sqlite", "wb").write(bad)
for number, size in enumerate([1, 100, 4096, 5000, len(good) - 4096, len(good) - 1]):
    open(f"short{number}.sqlite", "wb").write(good[:size])
PYTHON
for file in random*.sqlite short*.sqlite; do
  status=0
  "$program" sweep export "$file" --csv >out 2>err || status=$?
  case $status in
    0) cmp -s out good.csv || fail "$file: damage went unnoticed" ;;
    1 | 2) lacks err 'internal error' ;;
    *) fail "$file: status $status" ;;
  esac
done

# --- no room, no files, no writing ---------------------------------------------------------------------------
status=0
(ulimit -f 8 && "$program" sweep "$small" --vary training.global_batch=8..4000+8 --db limited.sqlite -j 1 >out 2>err) ||
  status=$?
((status == 1)) || fail "status $status when a file must not grow"
has err 'limited.sqlite: '
lacks err 'internal error'
if unshare -rm true 2>/dev/null && unshare -rm mount -t tmpfs -o size=64k none "$work" 2>/dev/null; then
  unshare -rm bash -c '
    mkdir room && mount -t tmpfs -o size=64k none room || exit 99
    "$1" sweep "$2" --vary training.global_batch=8..4000+8 --db room/full.sqlite -j 1' \
    - "$program" "$small" >out 2>err
  status=$?
  if ((status != 99)); then
    ((status == 1)) || fail "status $status on a full disk"
    has err 'full.sqlite: the disk is full; what was committed is kept'
    lacks err 'internal error'
  fi
fi
for files in 4 5 6 7 8 9 10 12 14 16; do
  status=0
  (ulimit -n "$files" && "$program" sweep "$small" "${grid[@]}" --db "few$files.sqlite" -j 8 >out 2>err) || status=$?
  ((status <= 2)) || fail "status $status with $files open files"
  lacks err 'internal error'
  ((status == 0)) || [[ -s err ]] || fail "no word with $files open files"
done
(ulimit -n 12 && "$program" sweep "$small" "${grid[@]}" -j 64 >out 2>err) && fail '64 workers with 12 open files'
has err 'Too many open files'

# A folder that cannot be written. Root may write everywhere.
mkdir readonly
cp good.sqlite readonly/
sqlite3 readonly/good.sqlite 'PRAGMA journal_mode' >/dev/null
rm -f readonly/*-wal readonly/*-shm
chmod 555 readonly
chmod 444 readonly/good.sqlite
as_user=()
if ((EUID == 0)); then
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 711 "$work"
fi
if "${as_user[@]}" "$program" --version >/dev/null 2>&1; then
  "${as_user[@]}" "$program" sweep export readonly/good.sqlite --csv >out 2>err || fail 'export from a read-only folder'
  cmp -s out good.csv || fail 'another result from a read-only folder'
fi
chmod 755 readonly

# --- two that start the same file -----------------------------------------------------------------------------
big=(sweep "$small" --vary 'training.global_batch=8..800000+8' --vary parallel.zero=0..2 --db twice.sqlite -j 1 --csv)
"$program" "${big[@]}" >first.csv 2>first.err &
first=$!
for _ in $(seq 200); do
  (($(sqlite3 twice.sqlite 'SELECT count(*) FROM points' 2>/dev/null || echo 0) > 0)) && break
  sleep 0.05
done
sentence 2 "twice.sqlite: another sweep is writing to it: process $first of this host" "${big[@]}" --resume
kill -INT "$first"
wait "$first"
for round in 1 2 3; do
  both=(sweep "$small" "${grid[@]}" --db "both$round.sqlite" -j 1)
  "$program" "${both[@]}" >out 2>err &
  "$program" "${both[@]}" >out2 2>err2
  one=$?
  wait $!
  other=$?
  ((one + other == 2)) || fail "two starts at once: status $one and $other"
  cat err2 >>err
  lacks err 'internal error'
  grep -q 'another sweep is writing to it\|--resume continues it' err || fail 'the second start says nothing'
  run 0 sweep export "both$round.sqlite" --csv
  cmp -s out good.csv || fail 'two starts at once: another result'
done

((failures == 0)) || exit 1
