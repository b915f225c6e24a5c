#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR SOURCE_DIR: installs BUILD_DIR below a home of its own and follows the README from there: its program,
# its CMakeLists.txt and its commands, word for word. Then the installed tree is moved, and programs that use the parts
# are built against it.
set -eu
build=$1
source=$2
scratch=$build/install-test
rm -rf "$scratch"
mkdir -p "$scratch/app" "$scratch/cmake" "$scratch/pkg-config"
HOME=$(cd "$scratch" && pwd)
export HOME
cmake --install "$build" --prefix "$HOME/stowage" >/dev/null

# The first block of a language in the part "From C++".
block() {
  awk -v fence="\`\`\`$1" '/^## /{part = $0 == "## From C++"} part && $0 == fence && !done {on = 1; next}
    /^```$/ {if (on) done = 1; on = 0} on' "$source/README.md"
}
if [ -d "$HOME/stowage/bin" ]; then
  ls "$HOME"/stowage/share/stowage/devices/*.yaml >/dev/null
  (cd "$HOME/stowage/share" && ls man/man1/stowage.1 man/man1/stowage-run.1 bash-completion/completions/stowage \
    zsh/site-functions/_stowage fish/vendor_completions.d/stowage.fish doc/stowage/deployment.md) >/dev/null
  version=$("$HOME/stowage/bin/stowage" --version)
  grep -q "#define STOWAGE_VERSION \"${version#stowage }\"" "$HOME/stowage/include/stowage/version.h"
  block cpp >"$HOME/app/app.cc"
  block cmake >"$HOME/app/CMakeLists.txt"
  block sh >"$HOME/app/commands"
  for f in app.cc CMakeLists.txt commands; do
    [ -s "$HOME/app/$f" ] || { echo "README.md has no $f" >&2; exit 1; }
  done
  (cd "$HOME/app" && sh -e commands >/dev/null)
  (cd "$source" && "$HOME/app/build/app" >"$HOME/first" && "$HOME/app/app" >"$HOME/second")
  cmp "$HOME/first" "$HOME/second"
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
echo "installed, used as the README says, moved, and used with find_package and pkg-config"
