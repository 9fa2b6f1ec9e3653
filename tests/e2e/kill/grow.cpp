// SPDX-License-Identifier: Apache-2.0
//
// Takes memory until it gets no more, or dies of it.
//
// usage: kill_grow   one line a block: "grown MIB"; std::bad_alloc is not caught
//
// Context:  tests
#include <cstdio>
#include <cstring>

namespace {

constexpr std::size_t kBlockBytes = 4u << 20;

// Named in the trace: the file must say where the program was when it died.
[[gnu::noinline]] unsigned long fill_block(char* block, int round) {
  unsigned long sum = 0;
  for (int pass = 0; pass < 4; ++pass) {
    std::memset(block, round + pass, kBlockBytes);
    for (std::size_t i = 0; i < kBlockBytes; i += 7) sum += static_cast<unsigned char>(block[i]);
  }
  return sum;
}

}  // namespace

int main() {
  unsigned long sum = 0;
  for (int round = 1;; ++round) {
    char* block = new char[kBlockBytes];  // kept: that is the point
    sum += fill_block(block, round);
    std::printf("grown %zu %lu\n", round * (kBlockBytes >> 20), sum % 10);
    std::fflush(stdout);
  }
}
