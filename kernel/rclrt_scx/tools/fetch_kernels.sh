#!/usr/bin/env bash
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Fetches what the distribution has only in a newer suite: kernels with sched_ext to boot in a virtual
# machine, and the source of libbpf. Nothing is installed and the machine's own package lists stay as
# they are: apt works on a state of its own below the folder named, with the mirror and the keys that
# the machine already uses. Packages are authenticated by apt as always.
#
#   fetch_kernels.sh FOLDER
#
# makes FOLDER/vmlinuz-<flavour> of the newest kernels in any of these suites and FOLDER/libbpf/src. With RCLRT_EFFORT=2,
# as for the tests that boot them, FOLDER/vmlinuz-<series> of the newest of a series and FOLDER/vmlinuz-older, too.
# What is there already is kept. What cannot be had is said in FOLDER/why-not, one line each, and is no error: the tests
# print it and skip.

set -uo pipefail

folder=${1:?usage: fetch_kernels.sh FOLDER}
mkdir -p "$folder" && cd "$folder" || exit 1
folder=$PWD
: >why-not
missing() { printf '%s\n' "$*" | tee -a why-not >&2; }

. /etc/os-release
case ${ID:-} in
  debian)
    # Backports may be newer than sid.
    suites=(sid trixie-backports)
    component=main
    flavours=(cloud-amd64)
    series=()
    older=
    if [[ ${RCLRT_EFFORT:-} == 2 ]]; then
      flavours+=(rt-amd64)
      series=(6.18 6.19 7.0 7.1 7.2)
      # Where sched_ext's functions still have their names of Linux 6.13: the oldest kernel that has them.
      older=6.16
    fi
    ;;
  ubuntu)
    suites=(resolute)
    component=main
    flavours=(generic)
    series=()
    older=
    ;;
  *)
    missing "kernels and libbpf are fetched on Debian and Ubuntu only, this is '${ID:-unknown}'"
    exit 0
    ;;
esac
wanted=(libbpf/src/libbpf.h "${flavours[@]/#/vmlinuz-}" "${series[@]/#/vmlinuz-}" ${older:+vmlinuz-older})
lacking=0
for file in "${wanted[@]}"; do [[ -s $file ]] || ((++lacking)); done
((lacking > 0)) || exit 0
if [[ $(dpkg --print-architecture) != amd64 ]]; then
  missing "kernels are fetched for amd64 only"
  exit 0
fi

# The mirror that this machine uses for its own distribution: `<mirror>/dists/<suite>/...` in apt's
# list of what it downloads.
mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" "Codename: $VERSION_CODENAME" \
  2>/dev/null | head -n 1)
keyring=/usr/share/keyrings/$ID-archive-keyring.gpg
if [[ -z $mirror || ! -e $keyring ]]; then
  missing "apt has no mirror or no keys of $ID to fetch newer packages with"
  exit 0
fi

# What apt knows from here on: the packages of these suites, and no others.
state=$folder/apt/state
mkdir -p "$state"/{lists/partial,cache/archives/partial,parts}
: >"$state/status"
for suite in "${suites[@]}"; do
  printf '%s [signed-by=%s] %s %s %s\n' deb "$keyring" "$mirror" "$suite" "$component" \
    deb-src "$keyring" "$mirror" "$suite" "$component"
done >"$state/sources.list"
options=(-o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts="$state/parts"
  -o Dir::State::Lists="$state/lists" -o Dir::State::Status="$state/status"
  -o Dir::Cache="$state/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root
  -o Acquire::Retries=2 -o Acquire::http::Timeout=30)
printf 'fetching %d files: kernels for virtual machines, the source of libbpf\n' "$lacking" >&2
if ! apt-get "${options[@]}" -qq update >"$state/update.log" 2>&1; then
  missing "no package list of $ID ${suites[*]}: $(tail -n 1 "$state/update.log")"
  exit 0
fi

# take_image <package> <file>: the kernel in it becomes the file.
taken=0 began=$SECONDS
take_image() {
  local left=''
  ((taken == 0)) || left=", about $(((SECONDS - began) * (lacking - taken) / taken)) s left"
  printf '  %d of %d: %s%s\n' $((++taken)) "$lacking" "$2" "$left" >&2
  if [[ -z $1 ]] || ! (cd apt && apt-get "${options[@]}" -qq download "$1") >apt/error 2>&1; then
    missing "no kernel package ${1:-for $2}: $(tail -n 1 apt/error 2>/dev/null)"
    return
  fi
  rm -rf apt/unpacked
  dpkg-deb --extract apt/"$1"_*.deb apt/unpacked &&
    find apt/unpacked -name 'vmlinuz*' -type f -exec mv {} "$2" \; &&
    [[ -s $2 ]] ||
    missing "$1 holds no kernel image"
  rm -rf apt/unpacked apt/"$1"_*.deb
}

# images <flavour> [<series>]: versions of the kernels, the newest last.
images() {
  local flavour=$1 series=${2:-}
  apt-cache "${options[@]}" pkgnames linux- |
    sed -nE "s/^linux-(image|binary)-([0-9].*-$flavour)\$/\2/p" |
    grep -E "^${series//./\\.}${series:+\\.}" | sort -Vu
}

# package <version>: newer Debian has the kernel in linux-binary-<version>.
package() {
  [[ -n $1 ]] || return 0
  local binary=linux-binary-$1
  if apt-cache "${options[@]}" pkgnames "$binary" | grep -qxF "$binary"; then
    printf '%s' "$binary"
  else
    printf 'linux-image-%s' "$1"
  fi
}

for flavour in "${flavours[@]}"; do
  [[ -s vmlinuz-$flavour ]] ||
    take_image "$(package "$(images "$flavour" | tail -n 1)")" "vmlinuz-$flavour"
done
for one in "${series[@]}"; do
  [[ -s vmlinuz-$one ]] ||
    take_image "$(package "$(images "${flavours[0]}" "$one" | tail -n 1)")" "vmlinuz-$one"
done
if [[ -n $older && ! -s vmlinuz-older ]]; then
  take_image "$(package "$(images "${flavours[0]}" "$older" | head -n 1)")" vmlinuz-older
fi
if [[ ! -e libbpf/src/libbpf.h ]]; then
  rm -rf libbpf
  if (cd apt && apt-get "${options[@]}" -qq source --download-only libbpf) >apt/error 2>&1; then
    mkdir -p libbpf && tar -xf apt/libbpf_*.orig.tar.* -C libbpf --strip-components=1
  else
    missing "no source of libbpf in $ID ${suites[*]}: $(tail -n 1 apt/error)"
  fi
fi
exit 0
