#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests check_schema.py on small schemas and files that fit them, and that do not.
set -euo pipefail
checker=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/check_schema.py")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{scenarios/schema,scenarios/clusters,planner/schemas}
cat >"$work/scenarios/schema/scenario.schema.json" <<'SCHEMA'
{"properties": {
  "model": {"description": "A name, or the model.", "anyOf": [{"type": "string"},
    {"properties": {"layers": {"description": "Layers."}}}]},
  "budget": {"description": "Limits.", "items": {"properties": {"max": {"description": "Most."}}}}}}
SCHEMA
echo '{"properties": {"jobs": {"description": "Jobs."}}}' >"$work/planner/schemas/cluster-file.schema.json"
echo 'jobs: 1' >"$work/scenarios/clusters/a.yaml"
cat >"$work/scenarios/run.yaml" <<'RUN'
# yaml-language-server: $schema=schema/scenario.schema.json
model: {layers: 3}
budget: [{max: 3}]
RUN
[[ $("$checker" "$work") == ok ]] || { echo 'good files are refused' >&2; exit 1; }

sed -i 's/layers: 3/layer: 3/; s/max: 3/most: 3/; s/=schema/=schemas/' "$work/scenarios/run.yaml"
sed -i 's/"Layers."/" "/' "$work/scenarios/schema/scenario.schema.json"
rm "$work/scenarios/clusters/a.yaml"
if "$checker" "$work" >"$work/out"; then echo 'bad files pass' >&2; exit 1; fi
diff - "$work/out" <<'EXPECTED'
scenarios/schema/scenario.schema.json: model.layers has no description
scenarios/run.yaml: model.layer is not offered
scenarios/run.yaml: budget[].most is not offered
scenarios/run.yaml: names schemas/scenario.schema.json, not scenarios/schema/scenario.schema.json
planner/schemas/cluster-file.schema.json: no file that it describes was found
EXPECTED
echo ok
