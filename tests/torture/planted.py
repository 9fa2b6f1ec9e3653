# SPDX-License-Identifier: Apache-2.0
def main(_): return 0
