# SPDX-License-Identifier: Apache-2.0
import sys

sys.dont_write_bytecode = True

from check import main

sys.exit(main(sys.argv[1:]))
