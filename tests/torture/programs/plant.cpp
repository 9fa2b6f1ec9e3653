// SPDX-License-Identifier: Apache-2.0
//
// Bugs that a profiler must not have, each by itself, in a library that is preloaded beside ours:
// the torture must see every one of them.
//
// Environment: GPUPROF_TORTURE_PLANT = status | signal | errno | output | slow | hang | child |
// fork
//
// Context:  tests; loaded into every process of an attempt, does nothing in gpuprof's own
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

[[gnu::constructor]] void begin() {
  if (in_a_program_of_ours()) return;
  if (planted("signal")) {
    sigset_t lost;
    sigemptyset(&lost);
    sigaddset(&lost, SIGPROF);
    sigprocmask(SIG_BLOCK, &lost, nullptr);
  }
  if (planted("output")) (void)!write(2, "profiling\n", 10);
  if (planted("slow")) sleep(25);
  if (planted("hang")) pause();
  if (planted("child") && fork() == 0) {
    for (int fd = 0; fd < 64; ++fd) close(fd);
    setsid();
    sleep(120);
    _exit(0);
  }
}

[[gnu::destructor]] void end() {
  if (!in_a_program_of_ours() && planted("status")) _exit(3);
}

}  // namespace

// A close that succeeds and leaves another errno behind, and a first descriptor that is not the
// program's.
extern "C" __attribute__((visibility("default"))) int close(int fd) {
  const long result = syscall(SYS_close, fd);
  if (planted("errno")) errno = EBADF;
  if (result < 0) errno = EBADF;
  return static_cast<int>(result);
}
