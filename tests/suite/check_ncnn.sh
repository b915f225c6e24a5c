#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_ncnn.sh STOWAGE TEST_DATA: models of ncnn against what ncnn computes. Those with weights of 16
# bits were computed with the same weights.
set -eu
stowage=$1 data=$2
if [ -z "$data" ] || [ ! -d "$data/models/ncnn" ]; then
  echo "skipped: no test data"
  exit 0
fi
set --
for name in fastestdet mtcnn_pnet mtcnn_rnet ultraface_slim320 waifu2x_upconv7_photo_scale2x; do
  set -- "$@" "$data/models/ncnn/$name"
done
"$stowage" check "$@" --rtol 1e-4 --atol 0 | tee /dev/stderr | tail -n 1 | grep -q '^5 passed, 0 failed, 0 skipped$'
