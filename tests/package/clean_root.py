#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a clean root for packages that are to be installed, from this Debian system's own packages.

The root holds the essential packages and what the given .deb files depend on, each with everything
that those depend on, and a dpkg database that knows of no other package: dpkg --root refuses a .deb
whose dependencies are not met there, and a library that no dependency names is not there. It takes
no network, no mounts and no privileges. Of the packages behind --met it is only seen whether their
dependencies can be met. usage: clean_root.py ROOT DEB... [--met DEB...]
"""
import os
import re
import shutil
import subprocess
import sys

DATABASE = "/var/lib/dpkg"
# Not needed to run anything, and most of the files.
LEFT_OUT = ("/usr/share/doc/", "/usr/share/info/", "/usr/share/lintian/", "/usr/share/locale/",
            "/usr/share/man/")


def fail(message):
    sys.exit("clean_root.py: " + message)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fields_of(stanza):
    """A control stanza as a dictionary; continued lines are joined."""
    fields = {}
    for line in re.sub(r"\n[ \t]", " ", stanza).splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.strip()
    return fields


class Installed:
    """The packages that are installed here."""

    def __init__(self):
        self.stanzas, self.fields, self.providers = {}, {}, {}
        native = output_of("dpkg", "--print-architecture").strip()
        with open(DATABASE + "/status", encoding="utf-8") as file:
            for stanza in file.read().split("\n\n"):
                fields = fields_of(stanza)
                if fields.get("Status") != "install ok installed":
                    continue
                if fields.get("Architecture") not in (native, "all"):
                    continue
                name = fields["Package"]
                self.stanzas[name], self.fields[name] = stanza.strip("\n"), fields
                for provided in re.findall(r"[^\s,(]+(?=\s*(?:\(|,|$))", fields.get("Provides", "")):
                    self.providers.setdefault(provided, []).append(name)

    def meets(self, alternative, versions):
        """The package that meets 'name (>= version)', or None; the version where that is asked."""
        match = re.fullmatch(r"([^\s:(]+)(?::\w+)?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?",
                             alternative.strip())
        if not match:
            fail(f"'{alternative}' is not understood as a dependency")
        name, relation, version = match.groups()
        if name in self.fields:
            if not (relation and versions) or subprocess.run(
                    ["dpkg", "--compare-versions", self.fields[name]["Version"], relation, version],
                    check=False).returncode == 0:
                return name
        return next(iter(self.providers.get(name, [])), None)

    def dependencies(self, fields, given=None):
        """The installed packages that meet the dependencies of a package.

        given: the names that it comes with, of a package that is not installed: what is installed
        has the versions that it needs already.
        """
        found = []
        for key in ("Pre-Depends", "Depends"):
            for clause in filter(None, map(str.strip, fields.get(key, "").split(","))):
                if clause.split()[0] in (given or ()):
                    continue
                candidates = (self.meets(each, given is not None) for each in clause.split("|"))
                met = next(filter(None, candidates), None)
                if met is None:
                    fail(f"{fields['Package']} depends on {clause}, which is not installed here")
                found.append(met)
        return found

    def closure(self, names):
        """The packages and all that they depend on."""
        open_names, closed = list(names), set()
        while open_names:
            name = open_names.pop()
            if name not in closed:
                closed.add(name)
                open_names += self.dependencies(self.fields[name])
        return sorted(closed)


def copy_path(path, root, copied):
    """One path of a package, as it is here; owners are whoever runs this."""
    target = root + path
    if not os.path.lexists(path) or os.path.lexists(target):
        return
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
    elif os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    elif os.path.isfile(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        inode = os.stat(path).st_ino, os.stat(path).st_dev
        if inode in copied:
            os.link(copied[inode], target)
        else:
            shutil.copy2(path, target)
            copied[inode] = target


def copy_package(name, installed, root, copied):
    info = DATABASE + "/info/"
    architecture = installed.fields[name]["Architecture"]
    stem = next((stem for stem in (name, f"{name}:{architecture}")
                 if os.path.exists(f"{info}{stem}.list")), None)
    if stem is None:
        fail(f"dpkg does not list the files of {name}")
    with open(f"{info}{stem}.list", encoding="utf-8") as file:
        for path in file.read().splitlines():
            if path != "/." and not path.startswith(LEFT_OUT):
                copy_path(path, root, copied)
    # Not its scripts and triggers: it counts as configured.
    for kind in ("list", "md5sums", "conffiles"):
        if os.path.exists(f"{info}{stem}.{kind}"):
            shutil.copy2(f"{info}{stem}.{kind}", f"{root}{info}{stem}.{kind}")


def make_root(root, installed, names):
    os.makedirs(root + DATABASE + "/info")
    for folder in (DATABASE + "/updates", DATABASE + "/triggers", "/proc", "/root", "/tmp", "/etc",
                   "/usr"):
        os.makedirs(root + folder, exist_ok=True)
    # Merged /usr: what is a link here is one there before any package is copied.
    for folder in ("bin", "lib", "lib32", "lib64", "libx32", "sbin"):
        if os.path.islink("/" + folder):
            os.makedirs(f"{root}/usr/{folder}", exist_ok=True)
            os.symlink("usr/" + folder, f"{root}/{folder}")
    copied = {}
    for name in names:
        copy_package(name, installed, root, copied)
    # What maintainers' scripts would have made.
    if not os.path.lexists(root + "/bin/sh"):
        os.symlink("dash", root + "/bin/sh")
    for file, line in (("passwd", "root:x:0:0:root:/root:/bin/sh"), ("group", "root:x:0:")):
        with open(f"{root}/etc/{file}", "w", encoding="utf-8") as stream:
            stream.write(line + "\n")
    with open(root + DATABASE + "/status", "w", encoding="utf-8") as file:
        file.write("".join(installed.stanzas[name] + "\n\n" for name in names))


def main():
    if len(sys.argv) < 3:
        fail("usage: clean_root.py ROOT DEB... [--met DEB...]")
    root, debs = os.path.abspath(sys.argv[1]), sys.argv[2:]
    installed = Installed()
    wanted = [name for name, fields in installed.fields.items() if fields.get("Essential") == "yes"]
    controls = {deb: fields_of(output_of("dpkg-deb", "-f", deb)) for deb in debs if deb != "--met"}
    given = {control["Package"] for control in controls.values()}
    only_met = False
    for deb in debs:
        if deb == "--met":
            only_met = True
            continue
        met = installed.dependencies(controls[deb], given)
        if not only_met:
            wanted += met
    names = installed.closure(wanted)
    make_root(root, installed, names)
    print(f"{len(names)} packages")


if __name__ == "__main__":
    main()
