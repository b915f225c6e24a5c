#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR SOURCE_DIR: installs BUILD_DIR to a scratch prefix, builds the consumer with
# find_package and with pkg-config, runs both, and runs the README's example on a model.
set -eu
build=$1
source=$2
scratch=$build/install-test
rm -rf "$scratch"
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
if [ -d "$scratch/prefix/bin" ]; then
  ls "$scratch"/prefix/share/stowage/devices/*.yaml >/dev/null
fi
awk '/^```cpp$/ {on = 1; next} /^```$/ {on = 0} on' "$source/README.md" >"$scratch/readme.cc"
cmake -S "$source/tests/install" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_STANDARD=20 -DCMAKE_PREFIX_PATH="$(cd "$scratch" && pwd)/prefix" \
  -DREADME_EXAMPLE="$(cd "$scratch" && pwd)/readme.cc" >/dev/null
cmake --build "$scratch/build" >/dev/null
"$scratch/build/convert_with_core"
(cd "$source" && "$(cd "$scratch" && pwd)/build/readme_example")
if [ -x "$scratch/build/list_devices" ]; then
  "$scratch/build/list_devices"
fi
pc=$(dirname "$(find "$scratch/prefix" -name stowage.pc)")
# --define-prefix: the scratch prefix is not the configured one.
# shellcheck disable=SC2046
c++ -std=c++20 "$source/tests/install/convert.cc" -o "$scratch/with_pkg_config" \
  $(PKG_CONFIG_PATH=$pc pkg-config --define-prefix --cflags --libs --static stowage)
"$scratch/with_pkg_config"
echo "installed and used with find_package and pkg-config"
