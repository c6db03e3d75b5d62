#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests check_site.py on a small repository, and what build.py makes of its pages.
set -euo pipefail
tests=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{tests,docs/site,.ci}
cp "$tests/check_links.py" "$work/tests"
cp "$tests/../docs/site/build.py" "$work/docs/site"
cat >"$work/docs/site/mkdocs.yml" <<'NAV'
site_name: x
nav:
  - Start:
      - Overview: README.md
      - Dotted: .ci/README.md
NAV
cat >"$work/README.md" <<'PAGE'
# A page
A list follows
- one
  - inside
    ```
      code
    ```
<!-- end -->
1. first

   of it

Words
a | b
--|--
[run](docs/run.yaml) [dotted](.ci/README.md#there)
PAGE
echo '# There' >"$work/.ci/README.md"
echo 'name: x' >"$work/docs/run.yaml"
[[ $("$tests/check_site.py" "$work") == ok ]] || { echo 'a good site is refused' >&2; exit 1; }

python3 -c 'import pathlib, runpy, sys
runpy.run_path(sys.argv[1] + "/docs/site/build.py")["stage"](pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))' \
  "$work" "$work/build"
diff - "$work/build/README.md" <<'EXPECTED'
# A page
A list follows

- one
    - inside
        ```
          code
        ```

1. first

    of it

Words

a | b
--|--
[run](docs/run.yaml.md) [dotted](ci/README.md#there)
EXPECTED
grep -qx 'name: x' "$work/build/docs/run.yaml.md"

echo '[x](../README.md#nowhere)' >"$work/docs/new.md"
sed -i 's/Dotted: .*/Gone: gone.md/' "$work/docs/site/mkdocs.yml"
if "$tests/check_site.py" "$work" >"$work/out"; then echo 'a bad site passes' >&2; exit 1; fi
diff - "$work/out" <<'EXPECTED'
.ci/README.md has no place in the nav of docs/site/mkdocs.yml
docs/new.md has no place in the nav of docs/site/mkdocs.yml
docs/site/mkdocs.yml: there is no gone.md
staged docs/new.md:1: ../README.md has no heading #nowhere
EXPECTED
echo ok
