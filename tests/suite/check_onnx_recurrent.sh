#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_onnx_recurrent.sh STOWAGE TEST_DATA: LSTM, GRU and RNN in ONNX's own test cases.
set -eu
stowage=$1 data=$2
if [ -z "$data" ] || [ ! -d "$data/onnx-node" ]; then
  echo "skipped: no test data"
  exit 0
fi
"$stowage" check "$data"/onnx-node/test_lstm_* "$data"/onnx-node/test_gru_* "$data"/onnx-node/test_rnn_* \
  "$data"/onnx-node/test_simple_rnn_* | tee /dev/stderr | tail -n 1 | grep -q ' 0 failed, 0 skipped$'
