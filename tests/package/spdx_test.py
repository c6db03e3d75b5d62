#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/spdx.py keeps the rules of SPDX 2.3 and names what the program links.

usage: spdx_test.py SPDX_SCRIPT PROGRAM PLUG_IN
Rules: SPDX specification 2.3, clauses 6 (document), 7 (packages) and 11 (relationships).
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

LICENCE = r"(NOASSERTION|NONE|[A-Za-z0-9.-]+( AND [A-Za-z0-9.-]+)*)"
RELATIONS = {"DESCRIBES", "DYNAMIC_LINK", "RUNTIME_DEPENDENCY_OF", "BUILD_DEPENDENCY_OF"}


def broken_rules(document):
    """Every rule that the document breaks, as words."""
    wrong = []

    def need(condition, rule):
        if not condition:
            wrong.append(rule)

    def matches(pattern, value):
        return isinstance(value, str) and re.fullmatch(pattern, value) is not None

    need(document.get("spdxVersion") == "SPDX-2.3", "6.1 version")
    need(document.get("dataLicense") == "CC0-1.0", "6.2 data licence")
    need(document.get("SPDXID") == "SPDXRef-DOCUMENT", "6.3 identifier")
    need(bool(document.get("name")), "6.4 name")
    namespace = document.get("documentNamespace")
    need(matches(r"https?://[^#\s]+", namespace), "6.5 namespace: a URI without '#'")
    creation = document.get("creationInfo", {})
    need(any(matches(r"(Tool|Person|Organization): .+", who) for who in creation.get("creators", [])),
         "6.8 creator")
    need(matches(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", creation.get("created")), "6.9 created")
    ids = ["SPDXRef-DOCUMENT"]
    for package in document.get("packages", []):
        ids.append(package.get("SPDXID"))
        need(bool(package.get("name")), "7.1 name")
        need(matches(r"SPDXRef-[A-Za-z0-9.-]+", package.get("SPDXID")), "7.2 identifier")
        need(bool(package.get("versionInfo")), "7.3 version")
        need(matches(r"NOASSERTION|NONE|\w+://\S+", package.get("downloadLocation")), "7.7 download")
        need(package.get("filesAnalyzed") is False, "7.8 files analysed, without a list of files")
        for key in ("licenseConcluded", "licenseDeclared"):
            need(matches(LICENCE, package.get(key)), "7.13, 7.15 licence")
        for reference in package.get("externalRefs", []):
            need(reference.get("referenceCategory") == "PACKAGE-MANAGER"
                 and matches(r"pkg:deb/debian/[a-z0-9+.-]+@[^\s+]+", reference.get("referenceLocator")),
                 "7.21 external reference")
    need(len(ids) == len(set(ids)), "identifiers are unique")
    for relation in document.get("relationships", []):
        need(relation.get("relationshipType") in RELATIONS, "11.1 type")
        for end in ("spdxElementId", "relatedSpdxElement"):
            need(relation.get(end) in ids, "11.1 element exists")
    need(set(document.get("documentDescribes", [])) <= set(ids), "6: what it describes exists")
    return wrong


def main():
    script, program, plug_in = sys.argv[1:]
    headers = ["/usr/include/nlohmann/json.hpp", "/usr/include/CLI/CLI.hpp"]

    def written(folder, name, *files, licence="Apache-2.0"):
        out = os.path.join(folder, name)
        subprocess.run([sys.executable, script, "--name", "foretrain", "--version", "0.1.0", "--out",
                        out, "--licence", licence, "--built-with", *headers, "--", *files], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        with open(out, encoding="utf-8") as file:
            return file.read()

    with tempfile.TemporaryDirectory() as folder:
        text = written(folder, "a.json", program)
        assert text == written(folder, "b.json", program), "two runs differ"
        engine = json.loads(written(folder, "c.json", plug_in,
                                    licence="Apache-2.0 AND LGPL-2.1-only"))
    document = json.loads(text)
    assert broken_rules(document) == [], broken_rules(document)
    names = {package["name"] for package in document["packages"]}
    for part in ("libc6", "libyaml-cpp0.7", "libsqlite3-0", "zlib1g",
                 "nlohmann-json3-dev", "libcli11-dev"):
        assert part in names, f"{part} is missing among {sorted(names)}"
    for part in names:
        assert not part.startswith(("libsimgrid", "libns3", "libgsl", "libqt6")), f"the program loads {part}"
    assert broken_rules(engine) == [], broken_rules(engine)
    names = {package["name"] for package in engine["packages"]}
    assert "libsimgrid3.32" in names, sorted(names)
    assert engine["packages"][0]["licenseConcluded"] == "Apache-2.0 AND LGPL-2.1-only"
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"

    def refused(change, rule):
        broken = copy.deepcopy(document)
        change(broken)
        assert any(rule in words for words in broken_rules(broken)), f"{rule} is not checked"

    refused(lambda d: d.update(spdxVersion="2.3"), "6.1")
    refused(lambda d: d.update(documentNamespace="foretrain"), "6.5")
    refused(lambda d: d["creationInfo"].update(created="today"), "6.9")
    refused(lambda d: d["packages"][1].update(SPDXID="SPDXRef-a_b"), "7.2")
    refused(lambda d: d["packages"][1].pop("versionInfo"), "7.3")
    refused(lambda d: d["relationships"][1].update(relatedSpdxElement="SPDXRef-none"), "11.1")

    lost = subprocess.run([sys.executable, script, "--name", "x", "--version", "1", "--out",
                           "/dev/null", "--", "/etc/hostname"], capture_output=True, text=True)
    assert lost.returncode != 0 and "spdx.py: " in lost.stderr, lost.stderr


if __name__ == "__main__":
    main()
