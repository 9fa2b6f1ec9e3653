// SPDX-License-Identifier: Apache-2.0
//
// What a sampler must not disturb, all at once: loading and closing libraries, malloc, exceptions
// through twenty frames, forks whose children do the same, short-lived threads.
//
// usage: sampler_stress SECONDS PLUGIN...     one line of counters a second; exit status 0: every
// thread made progress to the end, 3: one stood still for ten seconds
//
// Context:  tests
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 7;
constexpr int kStallSeconds = 10;

std::atomic<bool> g_go_on{true};
std::atomic<unsigned long> g_progress[kWorkers];
std::atomic<unsigned long> g_failures;
std::vector<const char*> g_plugins;

void load_and_close(int worker) {
  for (unsigned long turn = 0; g_go_on; ++turn) {
    void* library = dlopen(g_plugins[turn % g_plugins.size()], RTLD_NOW | RTLD_LOCAL);
    auto* work = library == nullptr
                     ? nullptr
                     : reinterpret_cast<long (*)(long)>(dlsym(library, "plugin_work"));
    if (work == nullptr || work(static_cast<long>(turn)) == 0x5eed) ++g_failures;
    if (library != nullptr) dlclose(library);
    ++g_progress[worker];
  }
}

void churn_memory(int worker) {
  std::vector<void*> kept(256);
  for (unsigned long turn = 0; g_go_on; ++turn) {
    void*& slot = kept[turn % kept.size()];
    std::free(slot);
    slot = std::malloc(16 + turn * 37 % 60000);
    if (slot != nullptr) std::memset(slot, 1, 16);
    ++g_progress[worker];
  }
  for (void* slot : kept) std::free(slot);
}

__attribute__((noinline)) void throw_from(int depth) {
  volatile char room[64];
  room[depth % 64] = 1;
  if (depth == 0) throw std::runtime_error("from below");
  throw_from(depth - 1);
  room[0] = room[1];
}

bool catch_one() {
  try {
    throw_from(20);
  } catch (const std::runtime_error& error) {
    return std::strcmp(error.what(), "from below") == 0;
  }
  return false;
}

void throw_and_catch(int worker) {
  while (g_go_on) {
    if (!catch_one()) ++g_failures;
    ++g_progress[worker];
  }
}

[[noreturn]] void be_a_child() {
  bool good = true;
  for (int i = 0; i < 20; ++i) {
    std::vector<char> memory(static_cast<std::size_t>(1000 * (i + 1)), 'x');
    good = good && catch_one() && memory.back() == 'x';
  }
  _exit(good ? 0 : 1);
}

void fork_and_wait(int worker) {
  while (g_go_on) {
    const pid_t child = fork();
    if (child == 0) be_a_child();
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++g_failures;
    ++g_progress[worker];
  }
}

void start_threads(int worker) {
  while (g_go_on) {
    std::thread([] {
      volatile double x = 1;
      for (int i = 0; i < 20000; ++i) x = x * 1.0000001;
    }).join();
    ++g_progress[worker];
  }
}

void print_counters(int second) {
  std::printf("second %d:", second);
  for (const auto& counter : g_progress) std::printf(" %lu", counter.load());
  std::printf(" failures %lu\n", g_failures.load());
  std::fflush(stdout);
}

// Watches from the main thread, which computes in between so that it is sampled too.
int watch(int seconds) {
  unsigned long seen[kWorkers] = {};
  int still[kWorkers] = {};
  for (int second = 1; second <= seconds; ++second) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    volatile unsigned long x = 1;
    while (std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < 100000; ++i) x = x * 3 + 1;
      usleep(5000);
    }
    print_counters(second);
    for (int i = 0; i < kWorkers; ++i) {
      const unsigned long now = g_progress[i];
      still[i] = now == seen[i] ? still[i] + 1 : 0;
      seen[i] = now;
      if (still[i] < kStallSeconds) continue;
      std::printf("STALL: thread %d\n", i);
      std::fflush(stdout);
      _exit(3);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_plugins.assign(argv + 2, argv + argc);
  using Body = void (*)(int);
  constexpr Body kBodies[kWorkers] = {load_and_close,  load_and_close,  churn_memory,
                                      throw_and_catch, throw_and_catch, fork_and_wait,
                                      start_threads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back(kBodies[i], i);
  const int status = watch(std::atoi(argv[1]));
  g_go_on = false;
  for (std::thread& thread : threads) thread.join();
  std::printf("done failures %lu\n", g_failures.load());
  return g_failures == 0 ? status : 1;
}
