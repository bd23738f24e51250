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
# makes FOLDER/vmlinuz-<flavour> and FOLDER/libbpf/src. What is there already is kept. What cannot be
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
    ;;
  ubuntu)
    suite=resolute
    component=main
    flavours=(generic)
    ;;
  *)
    missing "kernels and libbpf are fetched on Debian and Ubuntu only, this is '${ID:-unknown}'"
    exit 0
    ;;
esac
complete=yes
for flavour in "${flavours[@]}"; do [[ -s vmlinuz-$flavour ]] || complete=; done
[[ -n $complete && -e libbpf/src/libbpf.h ]] && exit 0
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

mkdir -p apt/{lists/partial,cache/archives/partial,parts}
: >apt/status
printf 'deb [signed-by=%s] %s %s %s\ndeb-src [signed-by=%s] %s %s %s\n' \
  "$keyring" "$mirror" "$suite" "$component" "$keyring" "$mirror" "$suite" "$component" >apt/sources.list
options=(-o Dir::Etc::SourceList="$folder/apt/sources.list" -o Dir::Etc::SourceParts="$folder/apt/parts"
  -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::Status="$folder/apt/status"
  -o Dir::Cache="$folder/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root
  -o Acquire::Retries=2 -o Acquire::http::Timeout=30)
if ! apt-get "${options[@]}" -qq update >apt/update.log 2>&1; then
  missing "no package list of $ID $suite: $(tail -n 1 apt/update.log)"
  exit 0
fi

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

for flavour in "${flavours[@]}"; do
  [[ -s vmlinuz-$flavour ]] && continue
  package=$(newest_image "$flavour")
  if [[ -z $package ]] ||
    ! (cd apt && apt-get "${options[@]}" -qq download "$package") >apt/error 2>&1; then
    missing "no kernel package linux-image-$flavour in $ID $suite: $(tail -n 1 apt/error 2>/dev/null)"
    continue
  fi
  rm -rf apt/unpacked
  dpkg-deb --extract apt/"$package"_*.deb apt/unpacked &&
    find apt/unpacked -name 'vmlinuz*' -type f -exec mv {} "vmlinuz-$flavour" \; &&
    [[ -s vmlinuz-$flavour ]] ||
    missing "$package holds no kernel image"
  rm -rf apt/unpacked apt/"$package"_*.deb
done

if [[ ! -e libbpf/src/libbpf.h ]]; then
  rm -rf libbpf
  if (cd apt && apt-get "${options[@]}" -qq source --download-only libbpf) >apt/error 2>&1; then
    mkdir -p libbpf && tar -xf apt/libbpf_*.orig.tar.* -C libbpf --strip-components=1
  else
    missing "no source of libbpf in $ID $suite: $(tail -n 1 apt/error)"
  fi
fi
