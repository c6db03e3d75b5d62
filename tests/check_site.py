#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the site of the documentation without building it: every page of the repository has a place
in docs/site/mkdocs.yml, every place a page, and what a page leads to is staged under the name that
the staged page links to, with the heading behind the "#".

usage: check_site.py [REPOSITORY_ROOT]; exit status 1 with a line for each problem
"""
import collections
import pathlib
import re
import runpy
import sys
import tempfile

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PLACE = re.compile(r"^ +- [^:]+: (\S+)$", re.M)
BUILT = {"library/index.html"}  # Doxygen's


def places(root: pathlib.Path) -> list[str]:
    settings = (root / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    return PLACE.findall(settings.partition("\nnav:\n")[2])


def misplaced(root: pathlib.Path, pages: set[str]):
    """Pages without a place, and places without a page."""
    counts = collections.Counter(places(root))
    for page in sorted(pages - set(counts)):
        yield f"{page} has no place in the nav of docs/site/mkdocs.yml"
    for place, count in counts.items():
        if place not in pages | BUILT:
            yield f"docs/site/mkdocs.yml: there is no {place}"
        if count > 1:
            yield f"docs/site/mkdocs.yml: {place} has {count} places"


def lost(folder: pathlib.Path, links):
    """Links of staged pages that lead nowhere."""
    for page in sorted(folder.rglob("*.md")):
        for number, line in links["prose"](page):
            for target in LINK.findall(links["CODE"].sub("", line)):
                path, _, heading = target.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                file = page.parent / path if path else page
                place = f"staged {page.relative_to(folder)}:{number}: "
                if not file.is_file():
                    yield place + f"there is no {path}"
                elif heading and heading not in links["anchors"](file):
                    yield place + f"{path or page.name} has no heading #{heading}"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    build = runpy.run_path(str(root / "docs/site/build.py"))
    links = runpy.run_path(str(root / "tests/check_links.py"))
    pages = {page.as_posix() for page in build["pages_of"](root)}
    problems = list(misplaced(root, pages))
    with tempfile.TemporaryDirectory() as folder:
        build["stage"](root, pathlib.Path(folder))
        problems += lost(pathlib.Path(folder), links)
    print("\n".join(problems) if problems else "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
