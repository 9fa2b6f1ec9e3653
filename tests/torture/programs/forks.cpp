// SPDX-License-Identifier: Apache-2.0
//
// Storms of processes: every way to start one, until the time is over, each child's end checked.
//
// usage: torture_forks MODE SECONDS   prints "done MODE failures 0"; MODE: see kModes
//
// Context:  tests
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
Clock::time_point g_end;
std::atomic<long> g_failures;
const char* g_self = "/proc/self/exe";

bool time_left() { return Clock::now() < g_end; }

void fail(const char* what, long detail) {
  if (g_failures.fetch_add(1) < 5) std::printf("failure: %s %ld\n", what, detail);
}

[[gnu::noinline]] unsigned long compute(long turns) {
  volatile unsigned long x = 1;
  for (long i = 0; i < turns; ++i) x = x * 3 + 1;
  return x;
}

void expect_end(pid_t pid, int status_wanted, const char* what) {
  int status = -1;
  if (pid < 0) return fail(what, -errno);
  if (waitpid(pid, &status, 0) != pid || status != status_wanted << 8) fail(what, status);
}

// A DataLoader's workers: fork, take indexes from a pipe, give batches back, end by _exit.
void worker(int in, int out) {
  long index = 0;
  while (read(in, &index, sizeof index) == sizeof index) {
    std::vector<long> batch(64);
    for (std::size_t i = 0; i < batch.size(); ++i)
      batch[i] = index * 2 + static_cast<long>(i) + static_cast<long>(compute(2000) & 0);
    if (write(out, batch.data(), 512) != 512) _exit(9);
  }
  _exit(3);
}

void workers() {
  constexpr int kWorkers = 8;
  while (time_left()) {
    int to[kWorkers][2], from[kWorkers][2];
    pid_t pids[kWorkers];
    for (int i = 0; i < kWorkers; ++i) {
      if (pipe2(to[i], O_CLOEXEC) != 0 || pipe2(from[i], O_CLOEXEC) != 0)
        return fail("pipe", errno);
      pids[i] = fork();
      if (pids[i] == 0) {
        for (int k = 0; k <= i; ++k) close(to[k][1]);
        worker(to[i][0], from[i][1]);
      }
      close(to[i][0]);
      close(from[i][1]);
    }
    for (long round = 0; round < 10; ++round) {
      for (auto& pipe_to : to)
        if (write(pipe_to[1], &round, sizeof round) != sizeof round) fail("write", errno);
      compute(20000);
      for (auto& pipe_from : from) {
        long batch[64];
        if (read(pipe_from[0], batch, sizeof batch) != sizeof batch || batch[5] != round * 2 + 5)
          fail("batch", batch[5]);
      }
    }
    for (int i = 0; i < kWorkers; ++i) {
      close(to[i][1]);
      expect_end(pids[i], 3, "worker");
      close(from[i][0]);
    }
  }
}

void vfork_exec() {
  while (time_left()) {
    const pid_t pid = vfork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "exit 5", nullptr);
      _exit(99);
    }
    expect_end(pid, 5, "vfork and exec");
    const pid_t plain = vfork();
    if (plain == 0) _exit(4);
    expect_end(plain, 4, "vfork and _exit");
  }
}

void spawn() {
  while (time_left()) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    char shell[] = "sh", option[] = "-c", text[] = "exit 6";
    char* arguments[] = {shell, option, text, nullptr};
    pid_t pid = -1;
    const int error = posix_spawn(&pid, "/bin/sh", nullptr, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
      fail("posix_spawn", error);
    else
      expect_end(pid, 6, "posix_spawn");
  }
}

// Daemons: fork, setsid, fork, the grandchild closes everything, says a word and goes on alone.
void double_fork() {
  while (time_left()) {
    int ends[2];
    if (pipe(ends) != 0) return fail("pipe", errno);
    const pid_t pid = fork();
    if (pid == 0) {
      setsid();
      const pid_t daemon = fork();
      if (daemon != 0) _exit(daemon < 0 ? 9 : 2);
      if (chdir("/") != 0) _exit(9);
      umask(0);
      const int word = dup2(ends[1], 3);
      closefrom(4);
      compute(200000);
      const pid_t self = getpid();
      _exit(write(word, &self, sizeof self) == sizeof self ? 0 : 9);
    }
    close(ends[1]);
    expect_end(pid, 2, "daemon's parent");
    pid_t output = 0;
    if (read(ends[0], &output, sizeof output) != sizeof output) fail("daemon", errno);
    if (read(ends[0], &output, 1) != 0) fail("daemon holds its pipe", errno);
    close(ends[0]);
  }
}

void exit_in_thread() {
  while (time_left()) {
    const pid_t pid = fork();
    if (pid == 0) {
      std::vector<std::thread> others;
      for (int i = 0; i < 3; ++i)
        others.emplace_back([] {
          for (;;) compute(1000);
        });
      std::thread([] {
        compute(100000);
        _exit(11);
      }).join();
    }
    expect_end(pid, 11, "_exit in a thread");
  }
}

// The program becomes itself again and again; argv carries the time that is left.
int exec_self(const char* mode, double seconds) {
  const char* before = std::getenv("TORTURE_EXECS");
  const int turn = before != nullptr ? std::atoi(before) : 0;
  std::thread other([] { compute(3'000'000); });
  other.join();
  if (seconds <= 0.05 || turn > 4000) {
    std::printf("done %s failures 0\n", mode);
    return 0;
  }
  const double left =
      seconds - std::chrono::duration<double>(Clock::now() -
                                              (g_end - std::chrono::duration_cast<Clock::duration>(
                                                           std::chrono::duration<double>(seconds))))
                    .count();
  setenv("TORTURE_EXECS", std::to_string(turn + 1).c_str(), 1);
  const std::string text = std::to_string(left);
  // From a thread that is not the first: it takes over its id.
  std::thread([&] { execl(g_self, "torture_forks", mode, text.c_str(), nullptr); }).join();
  return 9;
}

void sessions() {
  while (time_left()) {
    const pid_t pid = fork();
    if (pid == 0) {
      if (setsid() != getpid() || getpgrp() != getpid()) _exit(9);
      const pid_t below = fork();
      if (below == 0) {
        if (setpgid(0, 0) != 0) _exit(9);
        compute(50000);
        _exit(1);
      }
      int status = 0;
      waitpid(below, &status, 0);
      _exit(status == 1 << 8 ? 7 : 9);
    }
    expect_end(pid, 7, "setsid");
  }
}

int in_clone(void* word) {
  *static_cast<volatile int*>(word) = 42;
  compute(2000);
  _exit(8);
}

// clone with a shared current folder, as a vfork on a stack of its own, and the bare system call.
void clones() {
  constexpr std::size_t kStack = 256 << 10;
  auto* stack = static_cast<char*>(
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (stack == MAP_FAILED) return fail("mmap", errno);
  const int kinds[] = {CLONE_FS | SIGCHLD, CLONE_FS | CLONE_FILES | SIGCHLD,
                       CLONE_VM | CLONE_VFORK | SIGCHLD,
                       CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_FILES | SIGCHLD};
  for (unsigned turn = 0; time_left(); ++turn) {
    volatile int word = 0;
    const int flags = kinds[turn % 4];
    const pid_t pid = clone(in_clone, stack + kStack, flags, const_cast<int*>(&word));
    expect_end(pid, 8, "clone");
    if (((flags & CLONE_VM) != 0) != (word == 42)) fail("clone: memory", word);
    const auto bare = static_cast<pid_t>(
        syscall(SYS_clone, SIGCHLD | CLONE_FS, nullptr, nullptr, nullptr, nullptr));
    if (bare == 0) syscall(SYS_exit_group, 10);
    expect_end(bare, 10, "bare clone");
  }
  munmap(stack, kStack);
}

// Forks while other threads allocate, so that a child begins with locks that somebody held.
void fork_among_threads() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      while (!stop) {
        void* block = std::malloc(4000);
        std::memset(block, 1, 4000);
        std::free(block);
      }
    });
  while (time_left()) {
    const pid_t pid = fork();
    if (pid == 0) {
      std::vector<char> memory(100000, 'x');
      _exit(memory[99999] == 'x' ? 12 : 9);
    }
    expect_end(pid, 12, "fork among threads");
  }
  stop = true;
  for (std::thread& one : others) one.join();
}

struct Mode {
  const char* name;
  void (*body)();
};
constexpr Mode kModes[] = {{"workers", workers},
                           {"vfork", vfork_exec},
                           {"spawn", spawn},
                           {"daemons", double_fork},
                           {"exit-in-thread", exit_in_thread},
                           {"setsid", sessions},
                           {"clone", clones},
                           {"fork-among-threads", fork_among_threads}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const double seconds = std::atof(argv[2]);
  g_end = Clock::now() +
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (std::strcmp(argv[1], "exec-self") == 0) return exec_self(argv[1], seconds);
  for (const Mode& mode : kModes) {
    if (std::strcmp(argv[1], mode.name) != 0) continue;
    mode.body();
    std::printf("done %s failures %ld\n", mode.name, g_failures.load());
    return g_failures == 0 ? 0 : 1;
  }
  return 2;
}
