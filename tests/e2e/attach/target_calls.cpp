// SPDX-License-Identifier: Apache-2.0
//
// Calls that sleep 400 ms, one after the other.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>

#include "tests/e2e/attach/target_parts.hpp"

namespace attach_test {
namespace {

constexpr long kMs = 400;
constexpr timespec kSpan{0, kMs * 1'000'000};

double now_ms(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

timespec later(timespec at, long ns) {
  at.tv_nsec += ns;
  at.tv_sec += at.tv_nsec / 1'000'000'000;
  at.tv_nsec %= 1'000'000'000;
  return at;
}

timespec in_a_while(clockid_t clock, long ns = kSpan.tv_nsec) {
  timespec now;
  clock_gettime(clock, &now);
  return later(now, ns);
}

long sleep_relative() { return nanosleep(&kSpan, nullptr); }
long sleep_absolute() {
  const timespec at = in_a_while(CLOCK_MONOTONIC);
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}
long sleep_poll() { return poll(nullptr, 0, kMs); }
long sleep_ppoll() { return ppoll(nullptr, 0, &kSpan, nullptr); }
long sleep_select() {
  timeval span{0, kMs * 1000};
  return select(0, nullptr, nullptr, nullptr, &span);
}
long sleep_futex() {
  int word = 0;
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kSpan, nullptr, 0);
  return result == -1 && errno == ETIMEDOUT ? 0 : result;
}
long sleep_semaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const timespec at = in_a_while(CLOCK_REALTIME);
  const int result = sem_timedwait(&semaphore, &at);
  return result == -1 && errno == ETIMEDOUT ? 0 : result;
}
long sleep_condition() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec at = in_a_while(CLOCK_REALTIME);
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&condition, &mutex, &at);
  pthread_mutex_unlock(&mutex);
  return result == ETIMEDOUT ? 0 : result;
}
/// A child that ends after the span, and says a byte before.
pid_t child_that_writes(int fd) {
  const pid_t child = fork();
  if (child == 0) {
    nanosleep(&kSpan, nullptr);
    if (fd >= 0 && write(fd, "x", 1) != 1) _exit(1);
    _exit(0);
  }
  return child;
}
long sleep_read() {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return -1;
  const pid_t child = child_that_writes(ends[1]);
  const long got = read(ends[0], &byte, 1);
  const int failure = errno;
  waitpid(child, nullptr, 0);
  close(ends[0]), close(ends[1]);
  errno = failure;
  return got == 1 ? 0 : -1;
}
/// More than a pipe holds, which is read after the span; 0: all of it was taken.
long sleep_write() {
  static char bytes[256 << 10];
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    nanosleep(&kSpan, nullptr);
    while (read(ends[0], bytes, sizeof bytes) > 0) continue;
    _exit(0);
  }
  const long put = write(ends[1], bytes, sizeof bytes);
  close(ends[0]), close(ends[1]);
  waitpid(child, nullptr, 0);
  return put == sizeof bytes ? 0 : put;
}
/// The same, to a reader that takes a piece now and then: the writer wakes for each.
long sleep_write_in_pieces() {
  constexpr std::size_t kPiece = 64 << 10, kPieces = 20;
  static char bytes[kPieces * kPiece];
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    timespec at = in_a_while(CLOCK_MONOTONIC, 0);
    do {
      at = later(at, kMs * 1'000'000 / (kPieces - 1));
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    } while (read(ends[0], bytes, kPiece) > 0);
    _exit(0);
  }
  const long put = write(ends[1], bytes, sizeof bytes);
  close(ends[0]), close(ends[1]);
  waitpid(child, nullptr, 0);
  return put == sizeof bytes ? 0 : put;
}
long sleep_wait() {
  const pid_t child = child_that_writes(-1);
  return waitpid(child, nullptr, 0) == child ? 0 : -1;
}
long sleep_epoll() {
  const int fd = epoll_create1(0);
  epoll_event event;
  const int result = epoll_wait(fd, &event, 1, kMs);
  const int failure = errno;
  close(fd);
  errno = failure;
  return result;
}

constexpr struct {
  const char* name;
  long (*call)();
} kCalls[] = {{"nanosleep", sleep_relative},
              {"clock_nanosleep", sleep_absolute},
              {"poll", sleep_poll},
              {"ppoll", sleep_ppoll},
              {"select", sleep_select},
              {"futex", sleep_futex},
              {"sem_timedwait", sleep_semaphore},
              {"pthread_cond_timedwait", sleep_condition},
              {"write", sleep_write},
              {"write_in_pieces", sleep_write_in_pieces},
              {"read", sleep_read},
              {"waitpid", sleep_wait},
              {"epoll_wait", sleep_epoll}};

}  // namespace

std::uint64_t sleep_in_calls() {
  for (const auto& [name, call] : kCalls) {
    printf("begin %s\n", name);
    errno = 0;
    const double begun = now_ms();
    const long result = call();
    const int failure = errno;
    printf("end %s %.2f %ld %d\n", name, now_ms() - begun, result, result == 0 ? 0 : failure);
    getchar();  // whoever injects has done so
  }
  return std::size(kCalls);
}

}  // namespace attach_test
