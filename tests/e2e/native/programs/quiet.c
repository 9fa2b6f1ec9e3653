/* SPDX-License-Identifier: Apache-2.0
 * Says all that it can see of signals and timers of its own while it computes: before, in the
 * middle and after. What the program next control socket changes, shows here. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, profs, timers;
static volatile unsigned long sink;

static double cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void compute(double seconds) {
  const double end = cpu() + seconds;
  do {
    int i;
    for (i = 0; i < 20000; ++i) sink += (unsigned long)i;
  } while (cpu() < end);
}

static void count_alarm(int number) {
  (void)number;
  ++alarms;
}
static void count_prof(int number) {
  (void)number;
  ++profs;
}
static void count_timer(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  if (info->si_code == SI_TIMER && info->si_value.sival_int == 42) ++timers;
}

static void show(const char* when) {
  sigset_t set;
  int number;
  printf("%s: blocked", when);
  sigprocmask(SIG_SETMASK, NULL, &set);
  for (number = 1; number <= SIGRTMAX; ++number)
    if (sigismember(&set, number) == 1) printf(" %d", number);
  printf(", pending");
  sigpending(&set);
  for (number = 1; number <= SIGRTMAX; ++number)
    if (sigismember(&set, number) == 1) printf(" %d", number);
  printf(", handled");
  for (number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action;
    if (number == SIGSEGV || number == SIGBUS) continue; /* said in docs/stacks.md */
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN)
      printf(" %d", number);
  }
  printf("\n");
}

static void* with_all_blocked(void* unused) {
  sigset_t all, got;
  const struct timespec none = {0, 0};
  siginfo_t info;
  int taken = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  compute(0.15);
  sigpending(&got);
  while (sigtimedwait(&all, &info, &none) > 0) ++taken;
  printf("a thread that blocks all signals: %s pending, %d taken\n",
         sigisemptyset(&got) == 1 ? "none" : "some", taken);
  return unused;
}

static void calls_that_sleep(void) {
  const struct timespec wait = {0, 30000000};
  struct timeval select_wait = {0, 30000};
  struct epoll_event event;
  const int epoll = epoll_create1(0);
  int early = 0;
  compute(0.05);
  early += nanosleep(&wait, NULL) != 0;
  early += poll(NULL, 0, 30) != 0;
  early += select(0, NULL, NULL, NULL, &select_wait) != 0;
  early += epoll_wait(epoll, &event, 1, 30) != 0;
  close(epoll);
  printf("calls cut short: %d\n", early);
}

int main(void) {
  struct itimerval prof = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
  struct itimerspec when = {{0, 20000000}, {0, 20000000}}, left;
  struct sigaction action;
  struct sigevent event;
  pthread_t thread;
  timer_t timer;
  show("at first");
  compute(0.1);
  show("after 0.1 s");
  memset(&action, 0, sizeof action);
  action.sa_handler = count_alarm, sigaction(SIGALRM, &action, NULL);
  action.sa_handler = count_prof, sigaction(SIGPROF, &action, NULL);
  action.sa_sigaction = count_timer, action.sa_flags = SA_SIGINFO,
  sigaction(SIGUSR1, &action, NULL);
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL, event.sigev_signo = SIGUSR1, event.sigev_value.sival_int = 42;
  printf("timer_create %d", timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
  printf(", settime %d\n", timer_settime(timer, 0, &when, NULL));
  setitimer(ITIMER_PROF, &prof, NULL);
  printf("alarm before: %u\n", alarm(100));
  compute(0.3);
  printf("alarm left: %s\n", alarm(0) > 50 ? "most" : "little");
  setitimer(ITIMER_PROF, &off, NULL);
  printf("timer_gettime %d", timer_gettime(timer, &left));
  printf(", timer_delete %d\n", timer_delete(timer));
  printf("alarms %d, profiling signals %s, timer's %s\n", (int)alarms, profs > 3 ? "many" : "few",
         timers > 3 ? "many" : "few");
  signal(SIGPROF, SIG_DFL), signal(SIGALRM, SIG_DFL), signal(SIGUSR1, SIG_DFL);
  calls_that_sleep();
  if (pthread_create(&thread, NULL, with_all_blocked, NULL) == 0) pthread_join(thread, NULL);
  show("at last");
  return 0;
}
