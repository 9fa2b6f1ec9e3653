// SPDX-License-Identifier: Apache-2.0
// Sanitizer-built and well behaved.
#include <cstdio>
#include <vector>

int main() {
  std::vector<int> values(1000, 1);
  long sum = 0;
  for (int round = 0; round < 20000; ++round)
    for (int value : values) sum += value;
  std::printf("sum %ld\n", sum);
  return 4;
}
