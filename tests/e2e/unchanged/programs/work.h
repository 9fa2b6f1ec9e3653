/* SPDX-License-Identifier: Apache-2.0
 * Computes for so many seconds of wall time. */
#pragma once
#include <time.h>

static void work(double seconds) {
  struct timespec now;
  volatile unsigned long turns = 0;
  double end;
  clock_gettime(CLOCK_MONOTONIC, &now);
  end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + seconds;
  do {
    while (++turns % 20000 != 0) {
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < end);
}
