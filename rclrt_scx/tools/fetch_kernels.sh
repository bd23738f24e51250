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
# makes FOLDER/vmlinuz-<flavour>, FOLDER/vmlinuz-older and FOLDER/libbpf/src. What is there already is kept. What cannot be
# had is said in FOLDER/why-not, one line each, and is no error: the tests print it and skip.

set -uo pipefail

folder=${1:?usage: fetch_kernels.sh FOLDER}
mkdir -p "$folder" && cd "$folder" || exit 1
folder=$PWD
: >why-not
missing() { printf '%s\n' "$*" | tee -a why-not >&2; }

. /etc/os-release
case ${ID:-} in
  debian)
    suite=sid
    component=main
    flavours=(cloud-amd64 rt-amd64)
    # Where sched_ext's functions still have their names of Linux 6.13: the oldest kernel of this name.
    older_suite=trixie-backports
    older_name='linux-image-6\.1[6-9]\..*-cloud-amd64'
    ;;
  ubuntu)
    suite=resolute
    component=main
    flavours=(generic)
    older_suite=
    ;;
  *)
    missing "kernels and libbpf are fetched on Debian and Ubuntu only, this is '${ID:-unknown}'"
    exit 0
    ;;
esac
newest=there
for flavour in "${flavours[@]}"; do [[ -s vmlinuz-$flavour ]] || newest=; done
[[ -e libbpf/src/libbpf.h ]] || newest=
older=there
[[ -z $older_suite || -s vmlinuz-older ]] || older=
[[ -n $newest && -n $older ]] && exit 0
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

# use_suite <suite>: its packages are what apt knows from here on.
use_suite() {
  local state=$folder/apt/$1
  mkdir -p "$state"/{lists/partial,cache/archives/partial,parts}
  : >"$state/status"
  printf 'deb [signed-by=%s] %s %s %s\ndeb-src [signed-by=%s] %s %s %s\n' "$keyring" "$mirror" "$1" \
    "$component" "$keyring" "$mirror" "$1" "$component" >"$state/sources.list"
  options=(-o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts="$state/parts"
    -o Dir::State::Lists="$state/lists" -o Dir::State::Status="$state/status"
    -o Dir::Cache="$state/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root
    -o Acquire::Retries=2 -o Acquire::http::Timeout=30)
  apt-get "${options[@]}" -qq update >"$state/update.log" 2>&1 && return
  missing "no package list of $ID $1: $(tail -n 1 "$state/update.log")"
  return 1
}

# take_image <package> <file>: the kernel in it becomes the file.
take_image() {
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

# newest_image <flavour>: the package with the kernel that the metapackage stands for. Newer Debian
# has it in linux-binary-<version>.
newest_image() {
  local version
  version=$(apt-cache "${options[@]}" depends "linux-image-$1" 2>/dev/null |
    sed -nE 's/^ *Depends: linux-image-([0-9].*)/\1/p' | head -n 1)
  [[ -n $version ]] || return 0
  if apt-cache "${options[@]}" pkgnames "linux-binary-$version" | grep -qxF "linux-binary-$version"; then
    printf 'linux-binary-%s' "$version"
  else
    printf 'linux-image-%s' "$version"
  fi
}

mkdir -p apt
if [[ -z $newest ]] && use_suite "$suite"; then
  for flavour in "${flavours[@]}"; do
    [[ -s vmlinuz-$flavour ]] || take_image "$(newest_image "$flavour")" "vmlinuz-$flavour"
  done
  if [[ ! -e libbpf/src/libbpf.h ]]; then
    rm -rf libbpf
    if (cd apt && apt-get "${options[@]}" -qq source --download-only libbpf) >apt/error 2>&1; then
      mkdir -p libbpf && tar -xf apt/libbpf_*.orig.tar.* -C libbpf --strip-components=1
    else
      missing "no source of libbpf in $ID $suite: $(tail -n 1 apt/error)"
    fi
  fi
fi
if [[ -z $older ]] && use_suite "$older_suite"; then
  take_image "$(apt-cache "${options[@]}" pkgnames linux-image-6 | grep -xE "$older_name" | sort -V |
    head -n 1)" vmlinuz-older
fi
exit 0
