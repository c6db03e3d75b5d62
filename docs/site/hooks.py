# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does for the site beyond its settings: headings get the names that GitHub gives them,
and the search works from disk, where pages may not fetch its index."""
import pathlib
import re
import shutil

FOLDER = pathlib.Path(__file__).resolve().parent


def slug(heading: str, separator: str) -> str:
    """The name of a heading on GitHub; tests/check_links.py holds links to it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def on_post_build(config):
    site = pathlib.Path(config["site_dir"])
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    (site / "search/search_index.js").write_text(
        f"var __search = {{index: Promise.resolve({index})}};\n", encoding="utf-8")
    for unused in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # of a site with an address
        (site / unused).unlink(missing_ok=True)
    shutil.copyfile(FOLDER / "theme/site.css", site / "site.css")
