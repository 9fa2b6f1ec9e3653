/* SPDX-License-Identifier: Apache-2.0
 * Dies of SIGSEGV at a known address after some work. */
#include <stdio.h>

int main(void) {
  volatile double sum = 0;
  for (long i = 0; i < 50000000L; ++i) sum += 1.0;
  printf("about to crash\n");
  fflush(stdout);
  *(volatile int*)16 = 1;
  return 0;
}
