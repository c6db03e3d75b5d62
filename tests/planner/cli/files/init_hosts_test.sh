#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A first scenario on every host of the catalog, one and two of them, runs as it is written.
# usage: init_hosts_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

run 0 show hosts --json
mapfile -t hosts < <(python3 -c 'import json; [print(e["name"]) for e in json.load(open("out"))["entries"]]')
((${#hosts[@]} >= 40)) || fail "the catalog has ${#hosts[@]} hosts"
for host in "${hosts[@]}"; do
  for count in 1 2; do
    run 0 init - --model llama3.2-1b --host "$host" --hosts "$count" --tokens 10B </dev/null
    cp out "$host.yaml"
    has "$host.yaml" "host: $host"
    run 0 simulate "$host.yaml"
    has out "FITS"
  done
done

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
