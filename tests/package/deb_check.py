#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds built .deb files against what their files need. usage: deb_check.py FOLDER_WITH_DEBS

Depends must name the packages of the libraries that programs and plug-ins are linked with, and no
other: read off the dynamic sections here, independently of the tool that wrote the field.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))
import spdx  # noqa: E402

# What a package runs or stands on without being linked with it.
BESIDE_LIBRARIES = {"foretrain-mpi": {"foretrain", "openmpi-bin"}, "foretrain-gui": {"foretrain"},
                    "foretrain-event": {"foretrain"}, "foretrain": set(),
                    "python3-foretrain": {"foretrain", "python3"}}
PROGRAMS = {"foretrain": {"foretrain"}, "foretrain-gui": {"foretrain-gui"}, "foretrain-mpi": set(),
            "foretrain-event": set(), "libforetrain-dev": set(), "python3-foretrain": set()}
# Libraries whose licence would reach the package (docs/licences.md), and the packages that may.
COPYLEFT = {"libsimgrid": {"foretrain-event"}, "libns3": {"foretrain-event"},
            "libgsl": {"foretrain-event"}, "libqt6": {"foretrain-gui"}}


def fail(message):
    sys.exit("FAIL: " + message)


def field(deb, name):
    return spdx.output_of("dpkg-deb", "-f", deb, name).strip()


def alternatives(depends):
    """Each clause of Depends as the set of names that meet it."""
    return [{word.split()[0].split(":")[0] for word in clause.split("|")}
            for clause in filter(None, map(str.strip, depends.split(",")))]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def check_hardening(package, path):
    """What Debian asks of programs: hardening-check's list."""
    headers = spdx.output_of("readelf", "-W", "-h", "-l", "-d", path)
    symbols = spdx.output_of("readelf", "-W", "--dyn-syms", path)
    for what, there in (
            ("is not position-independent", re.search(r"Type:\s+DYN", headers)),
            ("has an executable stack", re.search(r"GNU_STACK\s.*\sRW\s", headers)),
            ("has writable relocations", "GNU_RELRO" in headers),
            ("binds symbols lazily", re.search(r"FLAGS.*\bNOW\b", headers)),
            ("has no stack protector", "__stack_chk_fail" in symbols),
            # A small plug-in may copy nothing whose size is known.
            ("has no fortified function",
             path.endswith(".so") or re.search(r"\b__(?!stack)\w+_chk\b", symbols))):
        if not there:
            fail(f"{package}: {os.path.basename(path)} {what}")


def check_libraries(package, deb, files):
    elves = [str(path) for path in files if is_elf(path)]
    for path in elves:
        dynamic = spdx.output_of("readelf", "-d", path)
        if "RPATH" in dynamic or "RUNPATH" in dynamic:
            fail(f"{package}: {path} looks for libraries where it was built")
        check_hardening(package, path)
    for library in spdx.packages_of(spdx.loaded_libraries(elves)):
        for name, allowed in COPYLEFT.items():
            if library.startswith(name) and package not in allowed:
                fail(f"{package} loads {library}")
    needed = spdx.packages_of(spdx.linked_libraries(elves)) | BESIDE_LIBRARIES[package]
    clauses = alternatives(field(deb, "Depends"))
    missing = [name for name in needed if not any(name in clause for clause in clauses)]
    idle = [clause for clause in clauses if not clause & needed]
    if missing:
        fail(f"{package} does not depend on {', '.join(sorted(missing))}")
    if idle:
        fail(f"{package} depends on {idle}, and nothing in it needs that")
    return len(clauses)


def check(deb):
    package = field(deb, "Package")
    if package not in PROGRAMS:
        fail(f"{package} is a package that this test does not know")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
        files = [path for path in pathlib.Path(folder).rglob("*")
                 if path.is_file() and not path.is_symlink()]
        programs = {path.name for path in files if path.parent.name == "bin"}
        if programs != PROGRAMS[package]:
            fail(f"{package} holds the programs {sorted(programs)}")
        for name in ("copyright", "changelog.gz"):
            if not (pathlib.Path(folder) / "usr/share/doc" / package / name).is_file():
                fail(f"{package} has no {name}")
        clauses = None
        if package in BESIDE_LIBRARIES:
            clauses = check_libraries(package, deb, files)
    size = os.path.getsize(deb) / 1e6
    print(f"{package}: {len(files)} files, {size:.1f} MB" +
          ("" if clauses is None else f", {clauses} dependencies, all needed"))
    return package, programs


def main():
    debs = sorted(str(path) for path in pathlib.Path(sys.argv[1]).glob("*.deb"))
    packages = dict(check(deb) for deb in debs)
    for package in ("foretrain", "foretrain-event", "libforetrain-dev"):
        if package not in packages:
            fail(f"there is no package {package}")


if __name__ == "__main__":
    main()
