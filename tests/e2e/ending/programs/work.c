/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread does without the GIL while Python ends, and what a program may do with the memory
 * that Python gave back. Knows nothing of profilers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);

/* Launches until the program's end, and counts. */
void launch_on(launch call, void* kernel, void* stream, volatile int64_t* count) {
  for (;; ++*count) call(kernel, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0);
}

/* Returns when so many more were counted. */
void wait_for(volatile int64_t* count, int64_t more) {
  const int64_t until = *count + more;
  const struct timespec pause = {0, 1000000};
  while (*count < until) nanosleep(&pause, 0);
}

/* Fills what the heap has of freed small blocks with addresses of nothing. */
void reuse_memory(void) {
  for (size_t bytes = 16; bytes <= 4096; bytes += 16) {
    for (int block = 0; block < 64; ++block) {
      volatile uint64_t* words = malloc(bytes);
      if (words == 0) return;
      for (size_t at = 0; at < bytes / sizeof *words; ++at) words[at] = 0x2bad00000000 + 4096 * at;
    }
  }
}
