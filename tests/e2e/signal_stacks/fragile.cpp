// SPDX-License-Identifier: Apache-2.0
//
// A program whose library must not be interrupted on the thread's own stack:
// fragile LIBRARY MODE SECONDS. The last line says how often data was damaged.
//
//   spin    the main thread and three others are in that code most of the time
//   own     so is one thread that has an alternate stack of its own, and uses it
//   churn   threads come and go, each in that code for a moment
//   fork    a child goes on with it, and makes threads
//   wait    as spin, but the threads are there before the library is
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Spin = void (*)(char* pointer, std::uint64_t rounds);
std::atomic<Spin> g_spin{nullptr};
std::atomic<int> g_damaged{0};
std::atomic<int> g_rounds{0};
std::atomic<int> g_handled{0};

double now_s() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Some 0.3 ms in that code, its data looked at afterwards.
void one_round() {
  static constexpr std::size_t kBytes = 64 << 10;
  static thread_local std::vector<char> data(kBytes);
  memset(data.data(), 0x5a, kBytes);
  g_spin.load()(data.data() + kBytes - 1024, 1'000'000);
  for (const char byte : data) {
    if (byte == 0x5a) continue;
    ++g_damaged;
    break;
  }
  ++g_rounds;
}

void rounds_until(double end_s) {
  while (g_spin.load() == nullptr) usleep(1000);
  while (now_s() < end_s) one_round();
}

void load(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  g_spin = reinterpret_cast<Spin>(dlsym(library, "fragile_spin"));
  usleep(300'000);  // as an import does before the first matrix is multiplied
}

void run_threads(double end_s) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(rounds_until, end_s);
  rounds_until(end_s);
  for (std::thread& thread : threads) thread.join();
}

// Its handler runs on its own alternate stack, before and after.
void with_own_stack(double end_s) {
  static char s_own[16 << 10];
  stack_t own{}, now{};
  own.ss_sp = s_own;
  own.ss_size = sizeof s_own;
  sigaltstack(&own, nullptr);
  while (now_s() < end_s) {
    one_round();
    raise(SIGUSR2);
  }
  sigaltstack(nullptr, &now);
  if (now.ss_sp != s_own) std::printf("the own stack is gone\n");
  own.ss_flags = SS_DISABLE;
  sigaltstack(&own, nullptr);
}

void handle(int, siginfo_t*, void*) { ++g_handled; }

void churn(double end_s) {
  while (now_s() < end_s) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(one_round);
    for (std::thread& thread : threads) thread.join();
  }
}

int forked(double end_s) {
  std::thread(one_round).join();  // the forking thread has its stack, too
  const pid_t child = fork();
  if (child == 0) {
    run_threads(end_s);
    std::printf("child: damaged %d of %d\n", g_damaged.load(), g_rounds.load());
    std::fflush(stdout);
    _exit(g_damaged != 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const char* mode = arguments[2];
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  const bool late = strcmp(mode, "wait") == 0;
  if (!late) load(arguments[1]);
  const double end_s = now_s() + atof(arguments[3]);
  int status = 0;
  if (late) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(rounds_until, end_s);
    load(arguments[1]);
    for (std::thread& thread : threads) thread.join();
  } else if (strcmp(mode, "own") == 0) {
    std::thread own(with_own_stack, end_s);
    run_threads(end_s);
    own.join();
  } else if (strcmp(mode, "churn") == 0) {
    churn(end_s);
  } else if (strcmp(mode, "fork") == 0) {
    status = forked(end_s);
  } else {
    run_threads(end_s);
  }
  std::printf("damaged %d of %d, status %d\n", g_damaged.load(), g_rounds.load(), status);
}
