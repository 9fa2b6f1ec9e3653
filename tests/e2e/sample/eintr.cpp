// SPDX-License-Identifier: Apache-2.0
//
// Which calls come back early because of a signal they never asked for.
//
// usage: sampler_eintr CALLS MILLISECONDS   one line a call: name, how many of CALLS gave EINTR;
// exit status 1 if any did. Between calls the thread computes, so that it is worth sampling.
//
// Context:  tests
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

int g_ms = 50;

timespec span() { return {0, g_ms * 1'000'000L}; }

timespec deadline() {
  timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += g_ms * 1'000'000L;
  if (at.tv_nsec >= 1'000'000'000L) {
    ++at.tv_sec;
    at.tv_nsec -= 1'000'000'000L;
  }
  return at;
}

bool by_errno(long result) { return result < 0 && errno == EINTR; }

bool try_nanosleep() {
  const timespec wait = span();
  return by_errno(nanosleep(&wait, nullptr));
}
bool try_clock_nanosleep() {
  const timespec wait = span();
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr) == EINTR;
}
bool try_usleep() { return by_errno(usleep(static_cast<unsigned>(g_ms) * 1000)); }
bool try_poll() { return by_errno(poll(nullptr, 0, g_ms)); }
bool try_select() {
  timeval wait{0, g_ms * 1000};
  return by_errno(select(0, nullptr, nullptr, nullptr, &wait));
}
bool try_epoll() {
  static const int fd = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event;
  return by_errno(epoll_wait(fd, &event, 1, g_ms));
}
bool try_futex() {
  static int word = 0;
  const timespec wait = span();
  return by_errno(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &wait, nullptr, 0));
}
bool try_sem_timedwait() {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const timespec at = deadline();
  return by_errno(sem_timedwait(&semaphore, &at));
}
bool try_recv() {
  static int pair[2] = {-1, -1};
  if (pair[0] < 0) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return true;
    const timeval wait{0, g_ms * 1000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  }
  char byte;
  return by_errno(recv(pair[0], &byte, 1, 0));
}
bool try_sigtimedwait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  const timespec wait = span();
  return by_errno(sigtimedwait(&set, nullptr, &wait));
}
bool try_semtimedop() {
  static const int id = semget(IPC_PRIVATE, 1, 0600);
  sembuf down{0, -1, 0};
  const timespec wait = span();
  const bool interrupted = by_errno(semtimedop(id, &down, 1, &wait));
  return interrupted;
}
bool try_cond_timedwait() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec at = deadline();
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&condition, &mutex, &at);
  pthread_mutex_unlock(&mutex);
  return result == EINTR;
}
bool try_pipe_read() {
  int ends[2];
  if (pipe(ends) != 0) return true;
  std::thread writer([&] {
    usleep(static_cast<unsigned>(g_ms) * 1000);
    if (write(ends[1], "x", 1) != 1) std::abort();
  });
  char byte;
  const bool interrupted = by_errno(read(ends[0], &byte, 1));
  writer.join();
  close(ends[0]);
  close(ends[1]);
  return interrupted;
}
bool try_waitpid() {
  const pid_t child = fork();
  if (child == 0) {
    usleep(static_cast<unsigned>(g_ms) * 1000);
    _exit(0);
  }
  int status;
  return by_errno(waitpid(child, &status, 0));
}

struct Call {
  const char* name;
  bool (*interrupted)();
};
constexpr Call kCalls[] = {
    {"nanosleep", try_nanosleep},
    {"clock_nanosleep", try_clock_nanosleep},
    {"usleep", try_usleep},
    {"poll", try_poll},
    {"select", try_select},
    {"epoll_wait", try_epoll},
    {"futex", try_futex},
    {"sem_timedwait", try_sem_timedwait},
    {"recv", try_recv},
    {"sigtimedwait", try_sigtimedwait},
    {"semtimedop", try_semtimedop},
    {"pthread_cond_timedwait", try_cond_timedwait},
    {"read", try_pipe_read},
    {"waitpid", try_waitpid},
};

// Enough CPU time for a signal or two between calls.
void compute() {
  timespec at;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  const long end = at.tv_sec * 1000 + at.tv_nsec / 1'000'000 + 3;
  volatile unsigned long x = 1;
  do {
    for (int i = 0; i < 20000; ++i) x = x * 3 + 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  } while (at.tv_sec * 1000 + at.tv_nsec / 1'000'000 < end);
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 20;
  if (argc > 2) g_ms = std::atoi(argv[2]);
  int all = 0;
  for (const Call& call : kCalls) {
    int interrupted = 0;
    for (int i = 0; i < calls; ++i) {
      compute();
      if (call.interrupted()) ++interrupted;
    }
    std::printf("%s %d/%d\n", call.name, interrupted, calls);
    std::fflush(stdout);
    all += interrupted;
  }
  return all == 0 ? 0 : 1;
}
