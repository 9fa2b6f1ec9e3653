/* SPDX-License-Identifier: Apache-2.0
 * Realtime signals that a program sends itself and takes without a handler: none is lost, none is
 * strange to it. usage: own_signals named | all   (one near the highest, or all of them) */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 60 };

static int sent[65], got[65];
static long values[65];

static void work(double seconds) {
  struct timespec now, end;
  volatile unsigned long turns = 0;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += (long)(seconds * 1e9);
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  do {
    ++turns;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void* other_thread(void* arg) {
  (void)arg;
  work(1.4);
  return NULL;
}

static void take(const sigset_t* set) {
  const struct timespec none = {0, 0};
  siginfo_t info;
  int number;
  while ((number = sigtimedwait(set, &info, &none)) > 0) {
    ++got[number];
    values[number] += info.si_value.sival_int;
    if (info.si_code != SI_QUEUE) printf("signal %d of code %d\n", number, info.si_code);
  }
}

static void send_and_take(const sigset_t* set) {
  int round, number;
  for (round = 0; round < kRounds; ++round) {
    for (number = SIGRTMIN; number <= SIGRTMAX; ++number) {
      const union sigval value = {.sival_int = round};
      if (sigismember(set, number) && sigqueue(getpid(), number, value) == 0) ++sent[number];
    }
    work(0.008);
    take(set);
    usleep(5000);
  }
  for (number = SIGRTMIN; number <= SIGRTMAX; ++number)
    if (sent[number] != 0)
      printf("%d: %d sent, %d taken, %ld\n", number, sent[number], got[number], values[number]);
}

static void wait_each(const sigset_t* set, int number) {
  int round, taken = 0;
  for (round = 0; round < kRounds; ++round) {
    kill(getpid(), number);
    work(0.005);
    alarm(60); /* else it waits for ever */
    sigwait(set, &taken);
    if (taken != number) printf("sigwait: %d\n", taken);
  }
  alarm(0);
  printf("waited\n");
}

static void read_timer(const sigset_t* set, int number) {
  const struct itimerspec when = {{0, 20000000}, {0, 20000000}};
  struct sigevent event;
  struct signalfd_siginfo info;
  timer_t timer;
  int expired = 0;
  const int fd = signalfd(-1, set, SFD_NONBLOCK);
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &when, NULL);
  while (expired < 20) {
    work(0.03);
    while (read(fd, &info, sizeof info) == sizeof info) {
      expired += 1 + (int)info.ssi_overrun;
      if (info.ssi_code != SI_TIMER) printf("signalfd: code %d\n", info.ssi_code);
    }
  }
  timer_delete(timer);
  printf("read\n");
}

int main(int argc, char** argv) {
  const int all = argc > 1 && strcmp(argv[1], "all") == 0;
  const int number = SIGRTMAX - 3;
  sigset_t set;
  pthread_t other;
  int one;
  sigemptyset(&set);
  for (one = SIGRTMIN; one <= SIGRTMAX; ++one)
    if (all || one == number) sigaddset(&set, one);
  work(0.3);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&other, NULL, other_thread, NULL);
  if (!all) wait_each(&set, number);
  send_and_take(&set);
  if (!all) read_timer(&set, number);
  pthread_join(other, NULL);
  return 3;
}
