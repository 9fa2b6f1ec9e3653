// SPDX-License-Identifier: Apache-2.0
//
// Threads and signals that a profiler disturbs easily, until the time is over; each effect is
// checked.
//
// usage: torture_threads MODE SECONDS   prints "done MODE failures 0"; MODE: see kModes
//
// Context:  tests
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
Clock::time_point g_end;
std::atomic<long> g_failures;
std::atomic<long> g_ticks;

bool time_left() { return Clock::now() < g_end; }

void fail(const char* what, long detail) {
  if (g_failures.fetch_add(1) < 5) std::printf("failure: %s %ld\n", what, detail);
}

[[gnu::noinline]] unsigned long compute(long turns) {
  volatile unsigned long x = 1;
  for (long i = 0; i < turns; ++i) x = x * 3 + 1;
  return x;
}

// As many short threads as can be started; one in eight is detached.
void churn() {
  std::atomic<long> begun{0}, ended{0};
  while (time_left()) {
    pthread_t threads[16];
    const auto body = [](void* counter) -> void* {
      compute(500);
      ++*static_cast<std::atomic<long>*>(counter);
      return nullptr;
    };
    for (int i = 0; i < 16; ++i) {
      const int error = pthread_create(&threads[i], nullptr, body, &ended);
      if (error != 0) return fail("pthread_create", error);
      ++begun;
      if (i % 8 == 7) pthread_detach(threads[i]);
    }
    for (int i = 0; i < 16; ++i)
      if (i % 8 != 7) pthread_join(threads[i], nullptr);
  }
  for (int i = 0; i < 500 && ended != begun; ++i) usleep(10000);
  if (ended != begun) fail("threads never ended", begun - ended);
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// A profiler of the program's own, by the process's timer.
void itimer() {
  struct sigaction action {};
  action.sa_handler = [](int) { ++g_ticks; };
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  sigaction(SIGPROF, &action, &before);
  if (before.sa_handler != SIG_DFL) fail("SIGPROF had a handler", 1);
  const itimerval every{{0, 4000}, {0, 4000}};
  setitimer(ITIMER_PROF, &every, nullptr);
  volatile int* const error = &errno;  // else the compiler knows that nobody changes it
  while (time_left() || cpu_seconds() < 0.2) {
    *error = 77;
    compute(100000);
    if (*error != 77) fail("errno changed to", *error);
  }
  struct sigaction now {};
  sigaction(SIGPROF, nullptr, &now);
  if (now.sa_handler != action.sa_handler) fail("somebody took SIGPROF", 1);
  const itimerval off{};
  itimerval left{};
  setitimer(ITIMER_PROF, &off, &left);
  if (left.it_interval.tv_usec != 4000)
    fail("somebody changed the timer", left.it_interval.tv_usec);
  const double most = cpu_seconds() / 0.004;
  // What a host takes from a virtual machine counts as CPU time and has no ticks.
  if (static_cast<double>(g_ticks) < most * 0.25) fail("ticks of SIGPROF", g_ticks);
}

void* g_frames[64];

// As gperftools does: a timer for each thread, a stack taken in the handler.
void gperf() {
  struct sigaction action {};
  backtrace(g_frames, 4);  // loads what it needs, outside of the handler
  action.sa_sigaction = [](int, siginfo_t*, void*) {
    const int saved = errno;
    void* frames[64];
    if (backtrace(frames, 64) > 0) ++g_ticks;
    errno = saved;
  };
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(SIGPROF, &action, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      sigevent event{};
      event.sigev_notify = SIGEV_THREAD_ID;
      event.sigev_signo = SIGPROF;
      event._sigev_un._tid = gettid();
      timer_t timer{};
      if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return fail("timer_create", errno);
      const itimerspec every{{0, 5'000'000}, {0, 5'000'000}};
      timer_settime(timer, 0, &every, nullptr);
      while (time_left()) compute(20000);
      timer_delete(timer);
    });
  for (std::thread& one : threads) one.join();
  if (g_ticks == 0) fail("no tick", 0);
}

thread_local sigjmp_buf g_back;

[[gnu::noinline]] long deeper(long n) {
  volatile char room[4000];
  room[n % 4000] = 1;
  return n <= 0 ? 0 : deeper(n - 1) + room[n % 4000];
}

// Faults handled on an alternate stack, and ordinary signals on it, in every thread.
void alternate_stacks() {
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(g_back, 1); };
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  struct sigaction light {};
  light.sa_handler = [](int) {
    ++g_ticks;
    compute(200);
  };
  light.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &light, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      std::vector<char> memory(static_cast<std::size_t>(SIGSTKSZ) + 8192);
      stack_t mine{};
      mine.ss_sp = memory.data();
      mine.ss_size = memory.size();
      sigaltstack(&mine, nullptr);
      while (time_left()) {
        compute(20000);
        pthread_kill(pthread_self(), SIGUSR1);
        if (sigsetjmp(g_back, 1) == 0) deeper(3'000);  // 12 MB: more than a thread has
        stack_t now{};
        sigaltstack(nullptr, &now);
        if (now.ss_sp != memory.data() || (now.ss_flags & SS_ONSTACK) != 0)
          fail("alternate stack", now.ss_flags);
      }
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    });
  for (std::thread& one : threads) one.join();
}

// Threads that block everything and wait for their signals: they get theirs and no other.
void blocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      sigset_t wanted;
      sigfillset(&wanted);
      while (time_left()) {
        pthread_kill(pthread_self(), SIGRTMIN + 5);
        compute(5000);
        timespec timeout{5, 0};
        siginfo_t info{};
        const int got = sigtimedwait(&wanted, &info, &timeout);
        if (got != SIGRTMIN + 5) fail("waited for its signal, got", got);
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        for (int n = 1; n <= SIGRTMAX; ++n)
          if (n != SIGKILL && n != SIGSTOP && (n < 32 || n >= SIGRTMIN) &&
              sigismember(&mask, n) != 1)
            fail("unblocked", n);
      }
    });
  for (std::thread& one : threads) one.join();
}

// Calls that a signal would interrupt: none of them may be.
void interrupted() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      while (time_left()) {
        const timespec moment{0, 3'000'000};
        if (nanosleep(&moment, nullptr) != 0) fail("nanosleep", errno);
        compute(300000);
      }
    });
  for (std::thread& one : threads) one.join();
}

// Threads that unblock signals only to wait: once in its life a wait of theirs may be cut short,
// and again where the worker comes late on a loaded machine.
void unblocked_to_wait() {
  constexpr long kMax = 5;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      sigset_t all, none;
      sigfillset(&all);
      sigemptyset(&none);
      compute(3'000'000);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      long cut = 0;
      while (time_left()) {
        compute(1'000'000);
        const timespec moment{0, 3'000'000};
        if (ppoll(nullptr, 0, &moment, &none) < 0) ++cut;
      }
      if (cut > kMax) fail("waits cut short", cut);
    });
  for (std::thread& one : threads) one.join();
}

struct Mode {
  const char* name;
  void (*body)();
};
constexpr Mode kModes[] = {{"churn", churn},
                           {"itimer", itimer},
                           {"gperf", gperf},
                           {"alternate-stacks", alternate_stacks},
                           {"blocked", blocked},
                           {"interrupted", interrupted},
                           {"unblocked-to-wait", unblocked_to_wait}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_end = Clock::now() + std::chrono::milliseconds(static_cast<long>(std::atof(argv[2]) * 1000));
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const Mode& mode : kModes) {
    if (std::strcmp(argv[1], mode.name) != 0) continue;
    mode.body();
    std::printf("done %s failures %ld\n", mode.name, g_failures.load());
    return g_failures == 0 ? 0 : 1;
  }
  return 2;
}
