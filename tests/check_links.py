#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that links between Markdown pages of the repository lead somewhere: the file is there, and
so is the heading behind the "#".

usage: check_links.py [REPOSITORY_ROOT]; exit status 1 when a link is broken
"""
import pathlib
import re
import sys

CODE = re.compile(r"(?<!\[)`[^`]*`(?!\])")  # but for the words of a link
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```")


def prose(page: pathlib.Path):
    """Lines outside of code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(page: pathlib.Path) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    names: set[str] = set()
    for _, line in prose(page):
        heading = re.match(r"#{1,6}\s+(.*?)\s*$", line)
        if not heading:
            continue
        text = re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")
        name, again = text, 0
        while name in names:
            again += 1
            name = f"{text}-{again}"
        names.add(name)
    return names


def broken(root: pathlib.Path):
    skipped = {"build", ".git", "node_modules"}
    pages = [page for page in sorted(root.rglob("*.md"))
             if not skipped & set(page.relative_to(root).parts)]
    for page in pages:
        for number, line in prose(page):
            for target in LINK.findall(CODE.sub("", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, heading = target.partition("#")
                file = (page.parent / path) if path else page
                place = f"{page.relative_to(root)}:{number}: "
                if not file.exists():
                    yield place + f"there is no {path}"
                elif heading and heading not in anchors(file):
                    yield place + f"{path or page.name} has no heading #{heading}"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = list(broken(root))
    print("\n".join(problems) if problems else "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
