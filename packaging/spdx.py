#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the software bill of materials of built programs as SPDX 2.3 JSON.

What a file needs at run time is read off its dynamic section (readelf -d), the package that provides
it asked of dpkg; what was compiled in is named by one of its headers with --built-with. Licences are those that a
package's copyright file declares in the machine-readable format, where it is in that format and the
name is on the SPDX list; otherwise NOASSERTION. Same files, packages and SOURCE_DATE_EPOCH: same bytes.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

# Debian's short names of licences that SPDX lists, by lower case; the SPDX names themselves count too.
SPDX_NAMES = {
    "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause", "bsl-1.0": "BSL-1.0", "boost-1.0": "BSL-1.0", "expat": "MIT",
    "mit": "MIT", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only",
    "gpl-3+": "GPL-3.0-or-later", "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later",
    "lgpl-3": "LGPL-3.0-only", "lgpl-3+": "LGPL-3.0-or-later", "mpl-2.0": "MPL-2.0",
    "mpl-2": "MPL-2.0", "zlib": "Zlib", "blessing": "blessing",
}


def fail(message):
    sys.exit("spdx.py: " + message)


def output_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"}).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is not installed")
    except subprocess.CalledProcessError as error:
        fail(f"{' '.join(command)}: {error.stderr.strip()}")


def needed_libraries(path):
    """Sonames that a program or library names as needed."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", path))


def library_paths(path):
    """Where the loader finds each soname."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", path), re.M))


def packages_of(paths):
    """The Debian packages that files belong to; merged /usr is known under both names."""
    names = {}
    for path in paths:
        real = os.path.realpath(path)
        for name in (path, real, real.removeprefix("/usr"), "/usr" + path):
            names[name] = path
    # One question about all: it fails for the names that nobody owns, and answers the others.
    answer = subprocess.run(["dpkg-query", "-S", *sorted(names)], capture_output=True, text=True)
    owners = {}
    for owner, name in re.findall(r"^([^\s:,]+)[^ ]*(?:, [^ ]+)*: (/.*)$", answer.stdout, re.M):
        if name in names:
            owners[names[name]] = owner
    for path in paths:
        if path not in owners:
            fail(f"{path} belongs to no package")
    return set(owners.values())


def declared_licence(package):
    """Of the whole package, as its copyright file declares it under `Files: *`."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return "NOASSERTION"
    for paragraph in re.split(r"\n\s*\n", text):
        if re.search(r"^Files:\s*\*\s*$", paragraph, re.M):
            names = re.findall(r"^License:\s*(\S+)\s*$", paragraph, re.M)
            if len(names) == 1:
                return SPDX_NAMES.get(names[0].lower(), "NOASSERTION")
    return "NOASSERTION"


def spdx_id(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package_facts(packages):
    """Version, architecture and home page of each, from one question."""
    text = output_of("dpkg-query", "-W", "-f",
                     "${Package}\t${Version}\t${Architecture}\t${Homepage}\n", *packages)
    return [line.split("\t") for line in text.splitlines()]


def package_entry(package, version, architecture, homepage):
    entry = {
        "SPDXID": spdx_id(package),
        "name": package,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared_licence(package),
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}"
                                f"?arch={architecture}",
        }],
    }
    if homepage:
        entry["homepage"] = homepage
    return entry


def linked_libraries(files):
    paths = set()
    for path in files:
        found = library_paths(path)
        for soname in needed_libraries(path):
            if soname.startswith("ld-linux"):
                continue
            if soname not in found:
                fail(f"{path} needs {soname}, which the loader does not find")
            paths.add(found[soname])
    return paths


def loaded_libraries(files):
    """All that the loader brings along: what libraries are linked with in their turn, too."""
    return {found for path in files for soname, found in library_paths(path).items()
            if not soname.startswith("ld-linux")}


def document(options):
    linked = packages_of(linked_libraries(options.files))
    loaded = packages_of(loaded_libraries(options.files)) - linked
    built_with = packages_of(options.built_with) - linked - loaded if options.built_with else set()
    entries = [package_entry(*facts)
               for facts in package_facts(sorted(linked | loaded | built_with))]
    root = spdx_id(options.name)
    program = {
        "SPDXID": root, "name": options.name, "versionInfo": options.version,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": options.licence, "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
    }
    if options.comment:
        program["licenseComments"] = options.comment
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": root}]
    relations += [{"spdxElementId": root, "relationshipType": "DYNAMIC_LINK",
                   "relatedSpdxElement": spdx_id(package)} for package in sorted(linked)]
    relations += [{"spdxElementId": spdx_id(package), "relationshipType": "RUNTIME_DEPENDENCY_OF",
                   "relatedSpdxElement": root} for package in sorted(loaded)]
    relations += [{"spdxElementId": spdx_id(package), "relationshipType": "BUILD_DEPENDENCY_OF",
                   "relatedSpdxElement": root} for package in sorted(built_with)]
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")),
                                             datetime.timezone.utc)
    body = {"packages": [program] + entries, "relationships": relations}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{options.name}-{options.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{options.name}-{options.version}-{digest}",
        "creationInfo": {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: foretrain-spdx.py"]},
        "documentDescribes": [root],
        **body,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--licence", default="Apache-2.0", metavar="EXPRESSION",
                        help="of the files as they are linked")
    parser.add_argument("--comment", default="", help="on that licence")
    parser.add_argument("--built-with", nargs="*", default=[], metavar="HEADER")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    text = json.dumps(document(options), indent=2) + "\n"
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
