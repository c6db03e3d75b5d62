#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages in a clean root and runs what they bring, as on a new machine. Takes
# root, debootstrap, a Debian mirror and some minutes, so that it is not part of ctest.
# usage: deb_test.sh FOLDER_WITH_DEBS [ROOT]
#   ROOT: a debootstrap --variant=minbase bookworm made before; copied, not changed
# environment: MIRROR (default http://deb.debian.org/debian), KEEP_ROOT=1 to look around afterwards
set -euo pipefail
debs=$(realpath -- "$1")
base=${2:-}
mirror=${MIRROR:-http://deb.debian.org/debian}
repository=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../..")
say() { printf 'deb_test: %s\n' "$*" >&2; }
fail() {
  say "FAIL: $*"
  exit 1
}
((EUID == 0)) || fail 'a clean root takes root'
work=$(mktemp -d)
root=$work/root
if [[ ${KEEP_ROOT:-} == 1 ]]; then
  say "the root stays in $root"
else
  trap '! mountpoint -q "$root/proc" || umount "$root/proc"; rm -rf --one-file-system "$work"' EXIT
fi

if [[ -n $base ]]; then
  cp -a -- "$base" "$root"
else
  say 'making a clean root'
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 ||
    { tail -5 "$work/log" >&2; fail 'debootstrap'; }
fi
[[ ! -e /etc/resolv.conf ]] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
# Programs look for their data from where /proc says they are; a container may forbid mounting.
mount -t proc proc "$root/proc" 2>/dev/null || say 'no /proc in the clean root'
mkdir -p "$root/debs"
cp -- "$debs"/*.deb "$root/debs/"
inside() { chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 HOME=/root \
  DEBIAN_FRONTEND=noninteractive "$@"; }
# File of a package; empty when there is none.
deb() { find "$root/debs" -name "$1_*.deb" -printf '%f' -quit; }
install() {
  inside apt-get -q -y -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root install \
    --no-install-recommends "$@" >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; fail "apt-get install $*"; }
}
inside apt-get -q -o APT::Sandbox::User=root update >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; fail 'apt-get update'; }

say "installing $(deb foretrain)"
install "/debs/$(deb foretrain)"
share=/usr/share/foretrain
inside foretrain --version
inside foretrain simulate $share/scenarios/llama2-70b-1024xh100.yaml >"$work/out"
grep -q ': FITS (foretrain' "$work/out" || fail 'the forecast'
inside foretrain simulate $share/scenarios/effects/base.yaml --engine event 2>"$work/out" &&
  fail 'the event engine runs without its plug-in'
grep -q 'foretrain-event' "$work/out" || fail 'nobody says where the event engine comes from'
say "installing $(deb foretrain-event)"
install "/debs/$(deb foretrain-event)"
inside foretrain simulate $share/scenarios/effects/base.yaml --engine event >"$work/out" ||
  fail 'the event engine: is the SimGrid plug-in found?'
inside foretrain check $share/scenarios $share/scenarios/basics | tail -n 1
inside foretrain show models >"$work/out"
[[ $(wc -l <"$work/out") -gt 50 ]] || fail 'the catalog'
inside foretrain validate >"$work/out" || fail 'the measurements'
inside dpkg -V foretrain || fail 'files differ from the package'
inside sh -c "python3 -V" >/dev/null 2>&1 && fail 'the root is not clean: it has Python'
[[ -s $root/usr/share/doc/foretrain/foretrain.spdx.json ]] || fail 'the SPDX list is missing'

say "installing $(deb foretrain-mpi)"
install "/debs/$(deb foretrain-mpi)"
inside sh -c "cd /root && mpirun --allow-run-as-root --oversubscribe -n 2 foretrain sweep \
  $share/scenarios/llama3-8b-8xh100.yaml --vary parallel.tensor=1,2,4,8 --out swept.db" >"$work/out" 2>&1 ||
  { tail -5 "$work/out" >&2; fail 'a sweep under mpirun'; }

if [[ -n $(deb python3-foretrain) ]]; then
  say "installing $(deb python3-foretrain)"
  install "/debs/$(deb python3-foretrain)"
  inside python3 -c "import foretrain; print(foretrain.simulate('$share/scenarios/llama3-8b-8xh100.yaml').step.time_s)" ||
    fail 'the Python package'
fi

if [[ -n $(deb foretrain-gui) ]]; then
  say "installing $(deb foretrain-gui)"
  install "/debs/$(deb foretrain-gui)"
  inside env QT_QPA_PLATFORM=offscreen foretrain-gui --version || fail 'the desktop program'
fi

say "installing $(deb libforetrain-dev), building the example"
install "/debs/$(deb libforetrain-dev)" g++ cmake make
cp -r -- "$repository/tests/package/example" "$root/root/example"
inside sh -c 'cd /root && cmake -S example -B built && cmake --build built' >"$work/log" 2>&1 ||
  { tail -20 "$work/log" >&2; fail 'the example'; }
inside /root/built/forecast $share/scenarios/llama3-8b-8xh100.yaml
inside /root/built/flops

if grep -rlF -- "$repository" "$root/usr/bin/foretrain" "$root/usr/lib/foretrain" "$root$share" \
  "$root/usr/share/doc/foretrain"; then
  fail 'these files name the folder that they were built in'
fi

inside apt-get -q -y purge foretrain foretrain-event foretrain-mpi libforetrain-dev python3-foretrain >"$work/log" 2>&1 ||
  { tail -5 "$work/log" >&2; fail 'apt-get purge'; }
left=$(find "$root/usr" -path '*foretrain*' ! -path '*/root/*' | head -5)
[[ -z $left ]] || fail "left after a purge: $left"
say 'all is well'
