#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The repository's own scenarios are what their committed baselines say, as a user's would be.
# FORETRAIN_UPDATE_GOLDEN=1 agrees with what moved; review the difference.
# usage: own_scenarios_test.sh PROGRAM REPOSITORY_ROOT
set -euo pipefail
program=$(realpath -- "$1")
cd -- "$2"
update=()
[[ -z ${FORETRAIN_UPDATE_GOLDEN:-} ]] || update=(--update)
exec "$program" check scenarios scenarios/basics "${update[@]}"
