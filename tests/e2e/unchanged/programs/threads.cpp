// SPDX-License-Identifier: Apache-2.0
// Many short threads, exceptions through several frames, thread-local destructors.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

static std::atomic<int> destroyed{0};
struct Local {
  int value = 1;
  ~Local() { ++destroyed; }
};
static thread_local Local t_local;

__attribute__((noinline)) static int deep(int n) {
  if (n == 0) throw std::runtime_error("bottom");
  return deep(n - 1) + 1;
}

int main() {
  std::atomic<int> caught{0};
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        t_local.value += 1;
        for (int k = 0; k < 20; ++k) try {
            deep(20);
          } catch (const std::exception&) {
            ++caught;
          }
      });
    for (auto& t : threads) t.join();
  }
  std::printf("caught %d, destroyed %d\n", caught.load(), destroyed.load());
  return 0;
}
