#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs this build as a tarball, and as a wheel where the Python package is built, and runs them from a
# folder of their own with an empty environment. 77: a tool is missing.
# usage: portable_test.sh CMAKE BUILD_FOLDER REPOSITORY VERSION [PYTHON MODULE]
set -euo pipefail
cmake=$1 build=$2 root=$3 version=$4 python=${5:-} module=${6:-}
for tool in strip readelf ldd dpkg-query python3; do
  command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed" >&2; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1700000000
fail() {
  echo "FAIL: $*" >&2
  exit 1
}
# stage COMPONENT...: a fresh installation in $work/stage.
stage() {
  rm -rf "$work/stage"
  local component
  for component in "$@"; do
    "$cmake" --install "$build" --component "$component" --prefix "$work/stage" >"$work/log" 2>&1 ||
      { cat "$work/log" >&2; fail "the component $component does not install"; }
  done
}
bare() { (cd / && env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "$@"); }

for turn in 1 2; do
  stage program
  "$root/packaging/portable.py" tarball "$work/stage" "$build/bin/foretrain" "$work/out$turn" \
    --version "$version" >/dev/null
done
tarball=$(echo "$work"/out1/foretrain-*.tar.gz)
cmp "$tarball" "$work/out2/${tarball##*/}" || fail 'two tarballs of one build differ'
mkdir "$work/moved"
tar -xf "$tarball" -C "$work/moved"
place=$(echo "$work"/moved/foretrain-*)
mv "$place" "$work/moved/here"
place=$work/moved/here
bare "$place/bin/foretrain" --version >"$work/text"
grep -qF "$place/share/foretrain" "$work/text" || fail "it takes its data from elsewhere: $(cat "$work/text")"
bare "$place/bin/foretrain" simulate "$place/share/foretrain/scenarios/llama3-8b-8xh100.yaml" --json >"$work/forecast"
bare ldd "$place/bin/foretrain" >"$work/libraries"
grep -q "=> .*/lib/foretrain/libyaml-cpp" "$work/libraries" || fail "it takes libraries from elsewhere: $(cat "$work/libraries")"
[[ -s $place/lib/foretrain/licences/libyaml-cpp0.7 ]] || fail 'licences of the libraries are missing'
ln -s "$place/bin/foretrain" "$work/link"
bare "$work/link" --version | cmp -s - "$work/text" || fail 'a link to it finds other data'

[[ -n $module ]] || exit 0
stage program python
wheel=$("$root/packaging/portable.py" wheel "$work/stage" "$module" "$work/wheels" --version "$version")
python3 -m zipfile -e "$wheel" "$work/site"
bare PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1 "$python" -m foretrain --version >"$work/text"
grep -qF "$work/site/foretrain/share/foretrain" "$work/text" || fail "the wheel takes its data from elsewhere: $(cat "$work/text")"
bare PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1 "$python" -m foretrain simulate \
  "$place/share/foretrain/scenarios/llama3-8b-8xh100.yaml" --json | cmp - "$work/forecast" ||
  fail 'the wheel forecasts something else'
# Every file with its hash, as installers check it.
(cd "$work/site" && "$python" - <<'CHECK') || fail 'RECORD is wrong'
import base64, csv, glob, hashlib, os
record = glob.glob("*.dist-info/RECORD")[0]
names = set()
for name, digest, size in csv.reader(open(record, encoding="utf-8")):
    names.add(name)
    if name != record:
        body = open(name, "rb").read()
        found = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + found and int(size) == len(body), name
there = {os.path.relpath(os.path.join(at, file)) for at, _, files in os.walk(".") for file in files}
assert names == there, names ^ there
CHECK
