#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain collective` as people and scripts do.
# usage: collective_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

run 0 collective --help
has out "Examples:"

run 0 collective --op all_reduce --sizes 8B:16GiB --hosts 4 --host dgx-h100 --fabric ib-ndr
is_empty err
is_narrow out
for part in "32 ranks" "count in elements" "tree/LL" "ring/Simple" "Avg bus bandwidth" "alone on an idle fabric"; do
  has out "$part"
done
cp out first
run 0 collective --hosts 4 --out same
is_empty out
same_text same first || fail "the defaults are not those of the help"

run 0 collective --scenario "$scenario" --op all_gather --sizes 1MiB,1GiB
has out "1,024 ranks"
run 0 collective --scenario "$scenario" --hosts 2 --groups 8 --sizes 1MiB
has out "8 groups of 2 ranks at once"
run 0 collective --hosts 2 --op send --sizes 1MiB --csv
has out "send,2,1,1048576,262144,float,-1,"

run 0 collective --hosts 2 --algorithm ring --protocol LL128 --sizes 1MiB --step-by-step --json
is_json out
has out '"schema": "collective/1"'
run 0 collective --hosts 4 --backend gloo --transport tcp --sizes 1MiB
has out "extrapolated"
run 0 collective --hosts 4 --backend mpi --op broadcast --root 5 --sizes 1MiB
run 0 collective --hosts 4 --transport rdma --sizes 1MiB
has out "datasheet"
run 0 collective --hosts 2 --down nic0.3 --algorithm ring --sizes 1GiB
has out "times as long as alone"
run 0 collective --hosts 40 --routing ecmp --seed 7 --topology fat-tree --sizes 1GiB
cp out once
run 0 collective --hosts 40 --routing ecmp --seed 7 --topology fat-tree --sizes 1GiB
cmp -s out once || fail "the same seed gives another table"

# Wrong words, with what was probably meant.
for words in "--op all_redcue|did you mean 'all-reduce'" "--algorithm rng|did you mean 'ring'" \
  "--host dgx-h10|did you mean 'dgx-h100'" "--fabric ib-ndrr|did you mean 'ib-ndr'" \
  "--protocol LL12|did you mean 'll128'" "--backend glo|did you mean 'gloo'" \
  "--sizes 8|--sizes" "--sizes 2B|element" "--type flot|did you mean 'float'" \
  "--groups 3|--groups" "--ranks 0|two ranks" "--op send --ranks 0-2|--ranks 0,8" \
  "--algorithm tree|one host" "--hosts 0|--hosts" "--transport udp|--transport"; do
  IFS='|' read -r arguments expected <<<"$words"
  # shellcheck disable=SC2086  # words are arguments
  run 2 collective $arguments
  is_empty out
  has err "$expected"
done

# A fabric that cannot hold the job.
run 3 collective --hosts 2 --ranks 0-31
has err "32 ranks, the fabric 16 GPUs"
run 3 collective --hosts 90000 --sizes 1MiB
has err "cannot connect 90000 hosts"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
