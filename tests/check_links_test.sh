#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests check_links.py on pages with good and with broken links.
set -euo pipefail
checker=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/check_links.py")
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
mkdir "$pages/docs"
printf '# A page\n\n## Why `x`, and how\n[self](#a-page) [site](https://example.org/x#y)\n' >"$pages/README.md"
# shellcheck disable=SC2016  # the backticks are Markdown's
printf '# Other\n[good](../README.md#why-x-and-how)\n```\n[code](nowhere.md)\n```\n' >"$pages/docs/other.md"
[[ $("$checker" "$pages") == ok ]] || { echo "good links are refused" >&2; exit 1; }
printf '[a](no.md)\n[b](../README.md#when)\n' >>"$pages/docs/other.md"
if "$checker" "$pages" >"$pages/out"; then echo "broken links pass" >&2; exit 1; fi
diff - "$pages/out" <<'EXPECTED'
docs/other.md:6: there is no no.md
docs/other.md:7: ../README.md has no heading #when
EXPECTED
echo ok
