// SPDX-License-Identifier: Apache-2.0
// Parts of x, each an output of its own. A work item makes one texel of each.
__kernel void split(ARGS, ITEMS) {
  GUARD
  PARTS
}
