/* SPDX-License-Identifier: Apache-2.0
 * A busy thread blocks every signal, works on, and then waits for every signal: by each of the
 * calls that take a signal without a handler, it gets the ones it was sent and no other. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "work_cpu.h"

static int by_sigwait(const sigset_t* all) {
  int got = 0;
  return sigwait(all, &got) == 0 ? got : -1;
}

static int by_sigwaitinfo(const sigset_t* all) { return sigwaitinfo(all, NULL); }

static int by_sigtimedwait(const sigset_t* all) {
  const struct timespec wait = {0, 100000000};
  return sigtimedwait(all, NULL, &wait);
}

static int by_signalfd(const sigset_t* all) {
  struct signalfd_siginfo info;
  const int fd = signalfd(-1, all, SFD_NONBLOCK);
  const long bytes = read(fd, &info, sizeof info);
  const int why = errno;
  close(fd);
  return bytes == sizeof info ? (int)info.ssi_signo : -why;
}

int main(void) {
  int (*const waits[])(const sigset_t*) = {by_sigwait, by_sigwaitinfo, by_sigtimedwait,
                                           by_signalfd};
  sigset_t all, before;
  int way;
  sigfillset(&all);
  for (way = 0; way < 4; ++way) {
    work(0.3);
    sigprocmask(SIG_BLOCK, &all, &before);
    work(0.1);
    kill(getpid(), SIGUSR1);
    if (way == 2) printf("sent: %d, ", by_sigtimedwait(&all));
    if (way == 3) printf("sent: %d, ", by_signalfd(&all));
    printf("way %d: %d\n", way, waits[way](&all));
    sigprocmask(SIG_SETMASK, &before, NULL);
  }
  return 0;
}
