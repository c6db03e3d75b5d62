#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows every link of a built site: the file is there and has the name behind the "#", and no page
loads anything from elsewhere.

usage: check_built.py SITE; exit status 1 with a line for each that fails
"""
import functools
import html.parser
import pathlib
import sys
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(html.parser.HTMLParser):
    """Names and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: set[tuple[str, bool]] = set()  # target, and whether the page loads it
        self.feed(text)

    def handle_starttag(self, tag: str, attributes) -> None:
        for key, value in attributes:
            if key in ("id", "name") and value:
                self.names.add(value)
            if key in ("href", "src") and value and tag != "base":
                self.links.add((value, (tag, key) in LOADS))


@functools.cache
def page(file: pathlib.Path) -> Page:
    return Page(file.read_text(encoding="utf-8", errors="replace"))


def problems(site: pathlib.Path):
    """Doxygen's own pages are many and taken as they are; links to them are followed."""
    for file in sorted(site.rglob("*.html")):
        if file.relative_to(site).parts[0] == "library":
            continue
        for target, loaded in sorted(page(file).links):
            place = f"{file.relative_to(site)}: "
            address = urllib.parse.urlsplit(target)
            if address.scheme or address.netloc:
                if loaded and address.scheme != "data":
                    yield place + f"loads {target}"
                continue
            path = urllib.parse.unquote(address.path)
            other = (file.parent / path).resolve() if path else file
            if path.startswith("/") or not other.is_file():
                yield place + f"there is no {target}"
            elif address.fragment and other.suffix == ".html":
                if urllib.parse.unquote(address.fragment) not in page(other).names:
                    yield place + f"{target}: there is no such heading"


def main() -> int:
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "every link of the site leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
