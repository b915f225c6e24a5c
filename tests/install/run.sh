#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR SOURCE_DIR TEST_DATA: installs BUILD_DIR below a home of its own and follows the README from there: its
# program, its CMakeLists.txt and its commands, word for word; and docs/api.md, its program and how it builds examples/.
# Then the installed tree is moved, and programs that use the parts, and examples/ again, are built against it.
set -eu
build=$1
source=$2
data=$3
scratch=$build/install-test
rm -rf "$scratch"
mkdir -p "$scratch/app" "$scratch/cmake" "$scratch/pkg-config"
HOME=$(cd "$scratch" && pwd)
export HOME
cmake --install "$build" --prefix "$HOME/stowage" >/dev/null

# The first block of a language in a file, in the part of that heading if there is one.
block() {
  awk -v fence="\`\`\`$1" -v heading="${3:-}" 'BEGIN {part = heading == ""}
    heading != "" && /^## /{part = $0 == "## " heading} part && $0 == fence && !done {on = 1; next}
    /^```$/ {if (on) done = 1; on = 0} on' "$source/$2"
}
if [ -d "$HOME/stowage/bin" ]; then
  ls "$HOME"/stowage/share/stowage/devices/*.yaml >/dev/null
  (cd "$HOME/stowage/share" && ls man/man1/stowage.1 man/man1/stowage-run.1 bash-completion/completions/stowage \
    zsh/site-functions/_stowage fish/vendor_completions.d/stowage.fish doc/stowage/deployment.md) >/dev/null
  version=$("$HOME/stowage/bin/stowage" --version)
  grep -q "#define STOWAGE_VERSION \"${version#stowage }\"" "$HOME/stowage/include/stowage/version.h"
  block cpp README.md "From C++" >"$HOME/app/app.cc"
  block cmake README.md "From C++" >"$HOME/app/CMakeLists.txt"
  block sh README.md "From C++" >"$HOME/app/commands"
  block cpp docs/api.md >"$HOME/api.cc"
  block sh docs/api.md >"$HOME/examples-commands"
  for f in app/app.cc app/CMakeLists.txt app/commands api.cc examples-commands; do
    [ -s "$HOME/$f" ] || { echo "README.md or docs/api.md has no ${f#*/}" >&2; exit 1; }
  done
  (cd "$HOME/app" && sh -e commands >/dev/null)
  (cd "$source" && "$HOME/app/build/app" >"$HOME/first" && "$HOME/app/app" >"$HOME/second")
  cmp "$HOME/first" "$HOME/second"

  cp -r "$source/examples" "$HOME/examples"
  (cd "$HOME" && sh -e examples-commands >/dev/null)
  /usr/bin/python3 "$source/tests/suite/examples.py" "$HOME/build/examples-by-hand" "$source" "$data"
fi

moved=$HOME/elsewhere/stowage
mkdir -p "$HOME/elsewhere"
mv "$HOME/stowage" "$moved"
cmake -S "$source/tests/install" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$moved" >/dev/null
cmake --build "$scratch/cmake" >/dev/null
"$scratch/cmake/convert_with_core"
PKG_CONFIG_PATH=$(dirname "$(find "$moved" -name stowage.pc)")
export PKG_CONFIG_PATH
grep -q "\"$(pkg-config --modversion stowage)\"" "$moved/include/stowage/version.h"
# shellcheck disable=SC2046
c++ -std=c++20 "$source/tests/install/convert.cc" -o "$scratch/pkg-config/convert" $(pkg-config --cflags --libs stowage)
"$scratch/pkg-config/convert"
if pkg-config --exists stowage-opencl; then
  # shellcheck disable=SC2046
  c++ -std=c++20 "$source/tests/install/devices.cc" -o "$scratch/pkg-config/devices" \
    $(pkg-config --cflags --libs stowage-opencl)
  "$scratch/cmake/list_devices" >/dev/null
  "$scratch/pkg-config/devices"
fi
if pkg-config --exists stowage-import; then
  out=$scratch/pkg-config
  # build_with PACKAGES OUT FILE...
  build_with() {
    packages=$1
    to=$2
    shift 2
    # shellcheck disable=SC2046,SC2086
    c++ -std=c++20 "$@" -o "$to" $(pkg-config --cflags --libs $packages)
  }
  build_with stowage-import "$out/common.o" -c "$source/examples/common.cc"
  build_with stowage-import "$out/pictures.o" -c "$source/examples/pictures.cc"
  for name in convert ports two_threads; do
    build_with stowage-import "$out/$name" "$source/examples/$name.cc" "$out/common.o"
  done
  for name in classify detect; do
    build_with "stowage-import libpng libturbojpeg" "$out/$name" "$source/examples/$name.cc" "$out/common.o" \
      "$out/pictures.o"
  done
  /usr/bin/python3 "$source/tests/suite/examples.py" "$out" "$source" "$data"
  build_with stowage-import "$out/api" "$HOME/api.cc"
  (cd "$source" && "$out/api") | grep -q "^49152 and 0 bytes are copied"
fi
echo "installed, used as the README says, moved, and used with find_package and pkg-config"
