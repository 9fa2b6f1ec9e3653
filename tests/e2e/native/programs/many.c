// SPDX-License-Identifier: Apache-2.0
#include <time.h>

__attribute__((visibility("default"))) void hot_many(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) continue;
}
