#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rebuilds MuJoCo from Debian's source package for this very processor, into build/peers. Prints the library's path.
# The system's package lists stay untouched: sources come through a private list, made from the mirror that apt uses anyway.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:-$top/build/peers}
library=$dir/mujoco/libmujoco.so
if [ -f "$library" ]; then echo "$library" && exit 0; fi
mkdir -p "$dir/apt/lists/partial" "$dir/apt/parts"
cd "$dir"

# Tools and the small libraries that MuJoCo uses.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
missing=()
for package in gcc g++ cmake ninja-build dpkg-dev libmujoco-dev libccd-dev libqhull-dev liblodepng-dev libtinyxml2-dev libtinyobjloader-dev; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root apt-get update -q >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
fi

# The upstream archive of the source package (its hash is in the signed index).
if ! ls mujoco_*.orig.tar.gz >/dev/null 2>&1; then
  read -r mirror suite < <(apt-cache policy libmujoco-dev | awk '$1 ~ /^[0-9]+$/ && $2 ~ /:\// {print $2, $3; exit}')
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror ${suite%%/*} ${suite##*/}" >apt/sources.list
  options=(-q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o "Dir::Etc::sourceparts=$PWD/apt/parts"
           -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt" -o "APT::Sandbox::User=$(id -un)")
  apt-get "${options[@]}" update >&2
  apt-get "${options[@]}" source --tar-only mujoco >&2
fi
rm -rf source && mkdir source
tar xzf mujoco_*.orig.tar.gz -C source --strip-components=1

cmake -S "$top/bench/native_mujoco" -B mujoco -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUJOCO_SOURCE_DIR="$dir/source" >&2
cmake --build mujoco >&2
echo "$library"
