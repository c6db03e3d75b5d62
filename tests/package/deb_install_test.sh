#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs this build as Debian packages, installs them in a clean root and runs what they bring. The
# root is made of the packages that their dependencies name and the essential ones, as they are
# installed here (clean_root.py), so that it takes no network; deb_test.sh does the same with a root
# and dependencies from a mirror. How much stands between that root and this system depends on what
# this user may do here, and is printed. 77: nothing can be tried.
# usage: deb_install_test.sh CMAKE CPACK BUILD_FOLDER CXX LINKER_FLAGS
# environment: ISOLATION=libraries to try the weakest form, which other machines may be left with
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
share=/usr/share/foretrain
say() { printf 'deb_install_test: %s\n' "$*" >&2; }
fail() {
  say "FAIL: $*"
  exit 1
}
# quietly WHAT COMMAND...: its output only where it fails.
quietly() {
  local what=$1
  shift
  "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; fail "$what"; }
}

# --- in the root ------------------------------------------------------------------------------
# This script runs itself again for this part: as root, as root of a user namespace, or as it is.

# inside COMMAND...: a program of the root, with nothing of this system's environment.
inside() {
  if [[ $isolation == libraries ]]; then
    env -i PATH="$root/usr/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 HOME="$work" QT_QPA_PLATFORM=offscreen \
      LD_LIBRARY_PATH="$libraries" QT_PLUGIN_PATH="$root/usr/lib/$triplet/qt6/plugins" \
      "$root/usr/bin/$1" "${@:2}"
  else
    chroot "$root" env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/root QT_QPA_PLATFORM=offscreen "$@"
  fi
}
# A file of the root, as programs there name it.
at() { if [[ $isolation == libraries ]]; then echo "$root$1"; else echo "$1"; fi; }

install_packages() {
  local deb
  if [[ $isolation == libraries ]]; then
    for deb in "$@"; do dpkg-deb -x "$deb" "$root"; done
    triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    libraries=$root/usr/lib/$triplet:$root/lib/$triplet:$root/usr/lib
    # Nothing may come from this system but the loader, whose path is in the programs.
    for deb in "$root"/usr/bin/foretrain* "$root"/usr/lib/foretrain/foretrain_simgrid.so; do
      LD_LIBRARY_PATH=$libraries ldd "$deb" | awk -v root="$root/" '
        /=>/ && (index($0, root) == 0) { print; bad = 1 } END { exit bad }' >&2 ||
        fail "$deb needs libraries that its dependencies do not bring"
    done
    return
  fi
  # The libraries' own packages would have told ldconfig.
  chroot "$root" /sbin/ldconfig
  quietly 'dpkg -i' dpkg --root="$root" --force-unsafe-io -i "$@"
  dpkg --root="$root" --audit >"$work/log" || fail 'dpkg --audit'
  [[ ! -s $work/log ]] || { cat "$work/log" >&2; fail 'dpkg sees packages that are not whole'; }
  dpkg --root="$root" -V foretrain >&2 || fail 'files differ from the package'
}

# Programs look for their data from where /proc says that they are.
give_proc() {
  [[ $isolation != libraries ]] || return 0
  if [[ $namespaces == yes ]] && mount -t proc proc "$root/proc" 2>/dev/null; then return; fi
  say 'nothing may be mounted here: a link stands for /proc/self/exe'
  mkdir -p "$root/proc/self"
  proc='link'
}
# run NAME ARGUMENTS...: a program of the packages.
run() {
  if [[ $proc == link ]]; then ln -sfn "/usr/bin/$1" "$root/proc/self/exe"; fi
  inside "$@"
}
expect() { # TEXT WHAT: the last output has it
  grep -qF -- "$1" "$work/out" || { head -n 20 "$work/out" >&2; fail "$2: no '$1'"; }
}

try_packages() {
  work=$1 root=$1/root isolation=$2 namespaces=$3 proc=real
  export HOME=$work  # dpkg reads a file there
  give_proc
  local debs=("$work"/debs/foretrain_*.deb "$work"/debs/foretrain-event_*.deb)
  local gui=("$work"/debs/foretrain-gui_*.deb)
  [[ ! -e ${gui[0]} ]] || debs+=("${gui[0]}")
  install_packages "${debs[@]}"
  local scenarios
  scenarios=$(at $share/scenarios)

  run foretrain --version >&2
  run foretrain doctor >"$work/doctor" || fail 'foretrain doctor'
  tr -d ' \n' <"$work/doctor" >"$work/out"  # long paths are broken over lines
  expect "$(at $share):" 'the data of the package'
  expect "$(at /usr/bin)/../lib/foretrain/foretrain_simgrid.so" 'the plug-in of the package'
  run foretrain fit "$scenarios/llama3-8b-8xh100.yaml" >"$work/out" || fail 'foretrain fit'
  expect 'FITS' 'foretrain fit'
  run foretrain simulate "$scenarios/llama2-70b-1024xh100.yaml" >"$work/out" || fail 'simulate'
  expect ': FITS (foretrain' 'foretrain simulate'
  run foretrain simulate "$scenarios/effects/base.yaml" --engine event >"$work/out" 2>&1 ||
    { tail -n 5 "$work/out" >&2; fail 'the event engine'; }
  run foretrain check "$scenarios/basics" >"$work/out" 2>&1 ||
    { tail -n 20 "$work/out" >&2; fail 'foretrain check'; }
  expect 'scenarios pass' 'foretrain check'
  run foretrain show models >"$work/out" || fail 'foretrain show'
  (($(wc -l <"$work/out") > 50)) || fail 'the catalog has few models'
  if [[ -e ${gui[0]} ]]; then
    run foretrain-gui --version >&2 || fail 'the desktop program'
    run foretrain-gui --render "$(at /tmp)/memory.png" --view memory --size 640x480 \
      "$scenarios/llama3-8b-8xh100.yaml" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail 'drawing'; }
    [[ $(head -c 4 "$root/tmp/memory.png" | tail -c 3) == PNG ]] || fail 'the picture is no PNG'
  fi
  cp -- "$work/built/forecast" "$work/built/flops" "$root/usr/bin/"
  run forecast "$scenarios/llama3-8b-8xh100.yaml" >"$work/out" || fail 'the example'
  expect 'llama3-8b-8xh100: ' 'the example'
  run flops >&2
}

if [[ ${1:-} == --try ]]; then
  shift
  try_packages "$@"
  exit
fi

# --- outside ----------------------------------------------------------------------------------
cmake=$1 cpack=$2 build=$3 cxx=$4 linker=$5
for tool in dpkg dpkg-deb dpkg-shlibdeps file readelf; do
  command -v "$tool" >/dev/null || { say "SKIP: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
as_root=()
trap '"${as_root[@]}" rm -rf --one-file-system "$work"' EXIT

SECONDS=0
mkdir "$work/debs"
(cd -- "$build" && quietly 'cpack' "$cpack" -G DEB -B "$work/debs" -D CPACK_DEBIAN_COMPRESSION_TYPE=zstd)
rm -rf "$work/debs/_CPack_Packages"
say "packed after $SECONDS s"
python3 "$here/deb_check.py" "$work/debs" >&2

# The example is built here against the headers and libraries of the package, with this compiler.
dpkg-deb -x "$work"/debs/libforetrain-dev_*.deb "$work/development"
quietly 'the example does not configure' "$cmake" -G Ninja -S "$here/example" -B "$work/built" \
  -DCMAKE_PREFIX_PATH="$work/development/usr" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_EXE_LINKER_FLAGS="$linker"
quietly 'the example does not build' "$cmake" --build "$work/built"
say "example built after $SECONDS s"

chmod 755 "$work"
programs=() others=()
for deb in "$work"/debs/*.deb; do
  case ${deb##*/} in
    foretrain_* | foretrain-event_* | foretrain-gui_*) programs+=("$deb") ;;
    *) others+=("$deb") ;;
  esac
done
python3 "$here/clean_root.py" "$work/root" "${programs[@]}" --met "${others[@]}" >&2
say "clean root after $SECONDS s"

# The strongest form of being somewhere else that this user has.
try() { "$@" >/dev/null 2>&1; }
try "$work/root/bin/true" || { say "SKIP: programs in $work cannot be run"; exit 77; }
isolated=(unshare --mount --pid --fork)
isolation=chroot namespaces=yes enter=()
if [[ ${ISOLATION:-} == libraries ]]; then
  isolation=libraries namespaces=no
elif ((EUID == 0)) && try "${isolated[@]}" chroot "$work/root" /bin/true; then
  enter=("${isolated[@]}")
elif ((EUID == 0)) && try chroot "$work/root" /bin/true; then
  namespaces=no
elif try "${isolated[@]}" --map-root-user chroot "$work/root" /bin/true; then
  enter=("${isolated[@]}" --map-root-user)
elif try unshare --map-root-user chroot "$work/root" /bin/true; then
  enter=(unshare --map-root-user) namespaces=no
elif try sudo -n chroot "$work/root" /bin/true; then
  as_root=(sudo -n) enter=(sudo -n) namespaces=no
else
  isolation=libraries namespaces=no
fi
say "isolation: $isolation ${enter[*]:-}${enter[*]:+ }as uid $EUID"
"${enter[@]}" "$here/deb_install_test.sh" --try "$work" "$isolation" "$namespaces"
say "all is well after $SECONDS s"
