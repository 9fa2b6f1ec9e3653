// SPDX-License-Identifier: Apache-2.0
//
// Programs to attach to: attach_target MODE SECONDS. The last line is "ok COUNT" if nothing that an
// injection could break was broken, else it says what; exit status 0 or 1. SIGTERM ends it earlier.
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/attach/target_parts.hpp"

namespace {

double g_end_s = 0;
volatile sig_atomic_t g_terminated = 0;

double now_s() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// A clock is no part of what is tried: it is read once in a while only.
bool goes_on(std::uint64_t count, std::uint64_t every) {
  return count % every != 0 || (g_terminated == 0 && now_s() < g_end_s);
}

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33;
}

std::uint64_t allocate() {
  std::vector<void*> blocks(64);
  std::uint64_t state = 1, count = 0;
  while (goes_on(++count, 100'000)) {
    void*& block = blocks[next_random(state) % blocks.size()];
    free(block);
    block = malloc(next_random(state) % 4096 + 1);
  }
  for (void* block : blocks) free(block);
  return count;
}

std::uint64_t open_libraries() {
  std::uint64_t count = 0;
  while (goes_on(++count, 10)) {
    void* one = dlopen("libutil.so.1", RTLD_NOW);
    void* other = dlopen("libanl.so.1", RTLD_NOW);
    if (one != nullptr) dlsym(one, "openpty");
    if (other != nullptr) dlclose(other);
    if (one != nullptr) dlclose(one);
  }
  return count;
}

std::uint64_t fork_children() {
  std::uint64_t count = 0;
  while (goes_on(++count, 1)) {
    const pid_t child = fork();
    if (child == 0) {
      free(malloc(100));
      _exit(7);
    }
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7))
      throw std::runtime_error("a child's status is wrong");
  }
  return count;
}

[[gnu::noinline]] int throw_from(int depth) {
  if (depth == 0) throw std::out_of_range("deep");
  return throw_from(depth - 1) + 1;
}

std::uint64_t throw_exceptions() {
  std::uint64_t count = 0, caught = 0;
  while (goes_on(++count, 1000)) {
    try {
      throw_from(20);
    } catch (const std::out_of_range&) {
      ++caught;
    }
  }
  if (caught + 1 != count) throw std::runtime_error("an exception got lost");
  return count;
}

std::uint64_t keep_vectors() {
  std::uint64_t count = 0;
  while (goes_on(++count, 10))
    if (const char* what = attach_test::broken_vectors()) throw std::runtime_error(what);
  return count;
}

std::uint64_t keep_red_zone() {
  std::uint64_t count = 0;
  while (goes_on(++count, 10))
    if (attach_test::red_zone_broken() != 0) throw std::runtime_error("the red zone was written");
  return count;
}

// Each call waits until all threads have answered a signal of the C library's own.
std::uint64_t set_ids() {
  for (int i = 0; i < 6; ++i)
    std::thread([] {
      for (;;) usleep(1000);
    }).detach();
  std::uint64_t count = 0;
  while (goes_on(++count, 10))
    if (seteuid(geteuid()) != 0) throw std::runtime_error("seteuid failed");
  return count;
}

// What a thread has beside its registers: floating-point modes, errno, blocked signals.
sigset_t g_mask;

void set_state() {
  sigemptyset(&g_mask);
  sigaddset(&g_mask, SIGUSR2);
  sigaddset(&g_mask, SIGRTMIN + 3);
  sigprocmask(SIG_SETMASK, &g_mask, nullptr);
  fesetround(FE_UPWARD);
}

std::uint64_t keep_state() {
  sigset_t seen;
  std::uint64_t count = 0;
  errno = 77;
  for (;;) {
    for (int spin = 0; spin < 200'000; ++spin) asm volatile("");
    if (errno != 77) throw std::runtime_error("errno changed to " + std::to_string(errno));
    if (fegetround() != FE_UPWARD) throw std::runtime_error("the rounding mode changed");
    sigprocmask(SIG_SETMASK, nullptr, &seen);
    for (int signal = 1; signal < 64; ++signal)
      if (sigismember(&g_mask, signal) != sigismember(&seen, signal))
        throw std::runtime_error("the mask changed at signal " + std::to_string(signal));
    if (!goes_on(++count, 1)) return count;
    errno = 77;
  }
}

struct Mode {
  const char* name;
  std::uint64_t (*run)();
  void (*prepare)() = nullptr;
};
constexpr Mode kModes[] = {
    {"malloc", allocate},
    {"dlopen", open_libraries},
    {"fork", fork_children},
    {"throw", throw_exceptions},
    {"setuid", set_ids},
    {"vectors", keep_vectors},
    {"red-zone", keep_red_zone},
    {"state", keep_state, set_state},
    {"calls", attach_test::sleep_in_calls},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  signal(SIGTERM, [](int) { g_terminated = 1; });
  setvbuf(stdout, nullptr, _IOLBF, 0);
  g_end_s = now_s() + atof(argv[2]);
  for (const Mode& mode : kModes) {
    if (strcmp(mode.name, argv[1]) != 0) continue;
    if (mode.prepare != nullptr) mode.prepare();
    puts("ready");
    try {
      printf("ok %llu\n", static_cast<unsigned long long>(mode.run()));
      return 0;
    } catch (const std::exception& failure) {
      printf("broken: %s\n", failure.what());
      return 1;
    }
  }
  return 2;
}
