/* SPDX-License-Identifier: Apache-2.0
 * Computes for so many milliseconds of wall time. */
#pragma once
#include <time.h>

static void work(int ms) {
  struct timespec begin, now;
  volatile int i;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (i = 0; i < 100000; ++i) continue; /* not in the C library */
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}
