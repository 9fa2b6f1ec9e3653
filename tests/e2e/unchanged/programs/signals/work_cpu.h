/* SPDX-License-Identifier: Apache-2.0
 * Computes for so many seconds of CPU time. */
#pragma once
#include <time.h>

static void work(double seconds) {
  volatile unsigned long turns = 0;
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) ++turns;
}
