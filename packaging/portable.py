#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a build so that it runs where it is put: a tarball of the program, and a wheel of the Python
package, each with its data and every library that is not on each Debian and Ubuntu from 22.04 on.

usage: portable.py tarball STAGE PROGRAM OUT --version V     PROGRAM: as built, with its RPATH
       portable.py wheel   STAGE MODULE  OUT --version V     MODULE: _core, as built, with its RPATH

STAGE holds what `cmake --install --component program` (and `python`) put below a prefix; it is
changed. Fails where a file needs a newer C or C++ library than Ubuntu 22.04 has. Same files and
SOURCE_DATE_EPOCH: same bytes.
"""
import argparse
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile

# What every system brings: the C and the C++ library and the loader.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so|ld-linux)")
# Ubuntu 22.04's.
OLDEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}
SUMMARY = "Forecasts LLM training on a GPU cluster: memory, step time, run and cost"


def fail(message):
    sys.exit("portable.py: " + message)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def bundled_libraries(binary):
    """Paths of the libraries that a binary loads and a bare system lacks, by soname."""
    listed = output_of("ldd", str(binary))
    missing = re.findall(r"^\s*(\S+) => not found", listed, re.M)
    if missing:
        fail(f"{binary} needs {', '.join(missing)}, which is not here")
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M))
    return {name: path for name, path in sorted(found.items()) if not SYSTEM.match(name)}


def check_versions(path):
    """No symbol is newer than the oldest system has."""
    for family, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)",
                                      output_of("readelf", "-W", "-V", str(path))):
        if tuple(map(int, version.split("."))) > OLDEST[family]:
            fail(f"{path.name} needs {family}_{version}; Ubuntu 22.04 has "
                 f"{'.'.join(map(str, OLDEST[family]))}")


def place(source, target):
    """A stripped copy that may be run."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    target.chmod(0o755)
    check_versions(target)


def close_path(binary):
    """CMake ends the RPATH of a build tree with a colon, which the loader takes for the folder that a
    user stands in; the same place in the file is filled with a zero instead."""
    found = re.search(r"\(RPATH\).*\[(\$ORIGIN[^:\]]*):\]", output_of("readelf", "-W", "-d", str(binary)))
    if not found:
        fail(f"{binary.name} has no RPATH as a build tree gives it")
    path = found[1].encode()
    before = binary.read_bytes()
    if before.count(path + b":\0") != 1:
        fail(f"{binary.name}: the RPATH is not where it is expected")
    binary.write_bytes(before.replace(path + b":\0", path + b"\0\0"))


def place_with_libraries(source, target, folder):
    place(source, target)
    close_path(target)
    for name, path in bundled_libraries(source).items():
        place(path, folder / name)
        copyright_of(path, folder)
    # The proof: in its new place it finds all of them there.
    for name, path in bundled_libraries(target).items():
        if pathlib.Path(path).resolve().parent != folder.resolve():
            fail(f"{target.name} takes {name} from {path}: it was not linked with an RPATH")


def copyright_of(path, folder):
    """The licence text of the package that a library comes from goes along."""
    real = os.path.realpath(path)
    for name in (path, real, real.removeprefix("/usr")):
        asked = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            package = asked.stdout.split(":")[0]
            text = pathlib.Path("/usr/share/doc") / package / "copyright"
            if text.exists():
                licences = folder / "licences"
                licences.mkdir(exist_ok=True)
                shutil.copyfile(text, licences / package)
            return
    fail(f"no package is known to hold {path}, so that its licence cannot be named")


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def mode_of(path):
    return 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644


def pack_tarball(stage, program, out, version):
    place_with_libraries(program, stage / "bin" / "foretrain", stage / "lib" / "foretrain")
    name = f"foretrain-{version}-linux-{os.uname().machine}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in files_below(stage):
            info = tarfile.TarInfo(f"{name}/{path.relative_to(stage)}")
            info.size, info.mode, info.mtime = path.stat().st_size, mode_of(path), epoch()
            with open(path, "rb") as file:
                archive.addfile(info, file)
    target = out / f"{name}.tar.gz"
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch()) as zipped:
        zipped.write(packed.getvalue())
    return target


def python_version(module):
    """(3, 11) of _core.cpython-311-x86_64-linux-gnu.so."""
    found = re.search(r"\.cpython-(\d)(\d+)-", module.name)
    if not found:
        fail(f"{module.name} does not say for which Python it is")
    return int(found[1]), int(found[2])


def wheel_tag(module):
    python = "cp{}{}".format(*python_version(module))
    glibc = "_".join(map(str, OLDEST["GLIBC"]))
    return f"{python}-{python}-manylinux_{glibc}_{os.uname().machine}"


def wheel_files(stage, module, version):
    """Contents by name in the archive, metadata last."""
    package = next(stage.rglob("dist-packages/foretrain"))
    contents = {f"foretrain/{path.relative_to(package)}": path.read_bytes()
                for path in files_below(package)}
    data = stage / "share" / "foretrain"
    for path in files_below(data):
        contents[f"foretrain/share/foretrain/{path.relative_to(data)}"] = path.read_bytes()
    info = f"foretrain-{version}.dist-info"
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: foretrain\nVersion: {version}\nSummary: {SUMMARY}\n"
        f"License: Apache-2.0\nRequires-Python: ==3.{python_version(module)[1]}.*\n").encode()
    contents[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: foretrain\nRoot-Is-Purelib: false\n"
                                 f"Tag: {wheel_tag(module)}\n").encode()
    contents[f"{info}/entry_points.txt"] = (
        b"[console_scripts]\nforetrain = foretrain.__main__:main\n")
    records = "".join(f"{name},{record_of(body)},{len(body)}\n" for name, body in contents.items())
    contents[f"{info}/RECORD"] = (records + f"{info}/RECORD,,\n").encode()
    return contents


def record_of(body):
    digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=")
    return "sha256=" + digest.decode()


def pack_wheel(stage, module, out, version):
    package = next(stage.rglob("dist-packages/foretrain"))
    place_with_libraries(module, package / module.name, package / "lib")
    wheel = out / f"foretrain-{version}-{wheel_tag(module)}.whl"
    date = time.gmtime(max(epoch(), 315532800))[:6]  # zip knows no year before 1980
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body in wheel_files(stage, module, version).items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            archive.writestr(entry, body)
    return wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("kind", choices=("tarball", "wheel"))
    parser.add_argument("stage", type=pathlib.Path)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--version", required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pack = {"tarball": pack_tarball, "wheel": pack_wheel}[options.kind]
    print(pack(options.stage, options.binary, options.out, options.version))


if __name__ == "__main__":
    main()
