#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_models.sh STOWAGE TEST_DATA ZOO THREADS: the models of models.txt, all of them.
set -eu
stowage=$1 data=$2 zoo=$3 threads=$4
if [ -z "$data" ] || [ ! -d "$data/models" ] || [ ! -d "$zoo" ]; then
  echo "skipped: no test data"
  exit 0
fi
folders=$(sed -e '/^#/d' -e "s|^zoo/|$zoo/|" -e "s|^models/|$data/models/|" "$(dirname "$0")/models.txt")
# shellcheck disable=SC2086
"$stowage" check $folders --threads "$threads" | tee /dev/stderr | tail -n 1 | grep -q ' 0 failed, 0 skipped$'
