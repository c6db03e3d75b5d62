#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the static site of the documentation, for ./dev docs: all Markdown pages of the repository,
what they show and link to, and the reference of the C++ library.

Pages stay written for GitHub. They are staged under build/docs/pages as Python-Markdown wants them,
rendered by mkdocs (mkdocs.yml), joined by Doxygen's pages, and every link of the result is followed.

usage: build.py [OUT]   OUT is build/docs by default; the site is OUT/site/index.html
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = {"build", ".git", ".cache", "node_modules", "site"}
PICTURES = {".svg", ".png"}

FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"^( *)([-*+]|\d+[.)])( +)(?=\S)")
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
COMMENT = re.compile(r"^\s*<!--.*-->\s*$")
DELIMITERS = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$")


def pages_of(root: pathlib.Path) -> list[pathlib.Path]:
    """The Markdown pages of a repository, relative to it."""
    found = (page.relative_to(root) for page in root.rglob("*.md"))
    return sorted(page for page in found if not SKIPPED & set(page.parts))


def staged(path: pathlib.Path) -> pathlib.Path:
    """Where a file of the repository lies among the pages: mkdocs passes over names with a dot in
    front, and shows what is no page only as a page."""
    parts = pathlib.Path(*(part.lstrip(".") for part in path.parts))
    if path.suffix in PICTURES | {".md"}:
        return parts
    return parts.with_name(parts.name + ".md")


class Lists:
    """Indents what belongs to list items by four columns a level, as Python-Markdown counts them;
    GitHub counts from where an item's text begins."""

    def __init__(self) -> None:
        self.columns: list[int] = []  # where the text of the open items begins
        self.blank = True

    def line(self, text: str, code: bool) -> str:
        if not text.strip():
            self.blank = True
            return ""
        indent = len(text) - len(text.lstrip(" "))
        item = None if code else ITEM.match(text)
        if not code and (self.blank or item):
            while self.columns and indent < self.columns[-1]:
                self.columns.pop()
        self.blank = False
        depth = len(self.columns)
        strip = min(indent, self.columns[-1]) if self.columns else 0
        if item:
            self.columns.append(len(item.group(0)))
            return " " * 4 * depth + item.group(2) + " " + text[item.end():]
        return " " * 4 * depth + text[strip:]


def apart(lines: list[str]) -> list[str]:
    """Blank lines where GitHub needs none: before lists and tables that follow a paragraph."""
    result: list[str] = []
    code = False
    for number, line in enumerate(lines):
        if FENCE.match(line):
            code = not code
        before = result[-1] if result else ""
        table = "|" in line and number + 1 < len(lines) and DELIMITERS.match(lines[number + 1])
        first = ITEM.match(line) and not ITEM.match(before) and not before.startswith(" ")
        if not code and before.strip() and (table or first):
            result.append("")
        result.append(line)
    return result


def page_text(root: pathlib.Path, page: pathlib.Path, links: set[pathlib.Path]) -> str:
    """A page as Python-Markdown reads it; notes in `links` which files it leads to."""
    lists, code, lines = Lists(), False, []

    def followed(match: re.Match) -> str:
        target, hash_sign, heading = match.group(2).partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match.group(0)
        file = (root / page.parent / target).resolve().relative_to(root)
        links.add(file)
        up = len(staged(page).parts) - 1
        place = "../" * up + staged(file).as_posix()
        return match.group(1) + place + hash_sign + heading + match.group(3)

    for line in (root / page).read_text(encoding="utf-8").splitlines():
        fence = FENCE.match(line)
        if not code and not fence:
            line = "" if COMMENT.match(line) else LINK.sub(followed, line)
        lines.append(lists.line(line, code or bool(fence)))
        code ^= bool(fence)
    return "\n".join(apart(lines)) + "\n"


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def notebook_text(text: str) -> str:
    """A notebook as a page: its words, its code, and what the code printed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(fenced(source, "python") if cell["cell_type"] == "code" else source + "\n")
        for output in cell.get("outputs", []):
            if output["output_type"] != "stream":
                raise ValueError(f"an output of type {output['output_type']} is not shown")
            parts.append(fenced("".join(output["text"])))
    return "\n".join(parts)


def file_page(file: pathlib.Path) -> str:
    """What a page links to and is none, as a page."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        return notebook_text(text)
    return f"# {file.name}\n\n" + fenced(text, {".yaml": "yaml"}.get(file.suffix, ""))


def stage(root: pathlib.Path, folder: pathlib.Path) -> None:
    """All pages, and the files that they show or link to."""
    links: set[pathlib.Path] = set()
    texts = {page: page_text(root, page, links) for page in pages_of(root)}
    for page, text in texts.items():
        write(folder / staged(page), text)
    for file in sorted(links - set(texts)):
        if file.suffix in PICTURES:
            (folder / staged(file)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, folder / staged(file))
        else:
            write(folder / staged(file), file_page(root / file))


def write(file: pathlib.Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def run(*command: str, **settings) -> None:
    print("dev:", command[0], file=sys.stderr)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, **settings)


def library(site: pathlib.Path) -> None:
    """Doxygen's pages of the public headers, beside the others."""
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8")
    settings += f'OUTPUT_DIRECTORY = "{site}"\nHTML_OUTPUT = library\n'
    print("dev: doxygen", file=sys.stderr)
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL)


def main() -> int:
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/docs").resolve()
    for old in ("pages", "site"):
        shutil.rmtree(out / old, ignore_errors=True)
    stage(ROOT, out / "pages")
    settings = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    for name, folder in {"docs_dir": out / "pages", "site_dir": out / "site",
                         "custom_dir": HERE / "theme", "hooks": HERE / "hooks.py"}.items():
        settings = settings.replace(f"@{name}@", json.dumps(str(folder)))
    settings = re.sub(r"(?<=: )\S+\.md$", lambda path: staged(pathlib.Path(path[0])).as_posix(),
                      settings, flags=re.M)
    write(out / "mkdocs.yml", settings)
    run("mkdocs", "build", "--quiet", "--config-file", str(out / "mkdocs.yml"))
    library(out / "site")
    run(str(HERE / "check_built.py"), str(out / "site"))
    print(out / "site/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
