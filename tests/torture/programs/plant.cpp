// SPDX-License-Identifier: Apache-2.0
//
// Bugs that a profiler must not have, each by itself, in a library that is preloaded beside ours:
// the torture must see every one of them.
//
// Environment: GPUPROF_TORTURE_PLANT = status | killed | signal | errno | output | slow | hang |
// descriptor | early
//
// Context:  tests; loaded into every process of an attempt, does nothing in gpuprof's own
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "inject/modules/module_symbols.hpp"

namespace {

bool planted(const char* name) {
  const char* asked = std::getenv("GPUPROF_TORTURE_PLANT");
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

bool in_a_program_of_ours() {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return true;
  const char* base = std::strrchr(path, '/');
  return base == nullptr || std::strncmp(base + 1, "gpuprof", 7) == 0;
}

// At the program's own pace: whatever it computes just now, errno is another afterwards.
void clobber_errno() {
  struct sigaction action {};
  action.sa_handler = [](int) { errno = EBADF; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMAX, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMAX;
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const itimerspec every{{0, 5'000'000}, {0, 5'000'000}};
  timer_settime(timer, 0, &every, nullptr);
}

// An interpreter is asked as soon as it is in the loader's list, whoever is loading it.
void* ask_early(void*) {
  for (;;) {
    void* (*ask)() = nullptr;
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void* found) {
          const std::uint64_t at =
              gpuprof::modules::ModuleSymbols(*module).find("PyGILState_GetThisThreadState");
          if (at != 0) *static_cast<void* (**)()>(found) = reinterpret_cast<void* (*)()>(at);
          return at != 0 ? 1 : 0;
        },
        &ask);
    if (ask != nullptr) return ask();
    const timespec wait{0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
}

[[gnu::constructor]] void begin() {
  if (in_a_program_of_ours()) return;
  if (planted("killed")) kill(getpid(), SIGKILL);
  if (planted("signal")) {
    sigset_t lost;
    sigemptyset(&lost);
    sigaddset(&lost, SIGPROF);
    sigprocmask(SIG_BLOCK, &lost, nullptr);
  }
  if (planted("errno")) clobber_errno();
  if (planted("descriptor")) (void)!open("/dev/null", O_RDONLY);
  if (planted("output")) (void)!write(2, "profiling\n", 10);
  if (planted("slow")) sleep(25);
  if (planted("hang")) pause();
  pthread_t thread;
  if (planted("early")) pthread_create(&thread, nullptr, ask_early, nullptr);
}

[[gnu::destructor]] void end() {
  if (!in_a_program_of_ours() && planted("status")) _exit(3);
}

}  // namespace
