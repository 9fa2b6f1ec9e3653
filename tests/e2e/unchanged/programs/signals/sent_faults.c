/* SPDX-License-Identifier: Apache-2.0
 * A program that is sent the signals which stand for faults, and others that are seldom sent, where
 * it blocks, ignores or waits for them.
 * usage: sent_faults blocked | early | thread | ignored | restart | heirs | suspend | default |
 * queue | old | pending
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "handle.h"
#include "work_ms.h"

#define SIGNAL (SIGRTMAX - 3)

static volatile int got;

static void rest(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static void count(int number) {
  (void)number;
  ++got;
}

static sigset_t block_up_to(int last) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  for (number = 1; number <= last; ++number) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, NULL);
  return set;
}

static sigset_t block_all(void) { return block_up_to(SIGRTMAX); }

static void take(const sigset_t* set) {
  const struct timespec none = {0, 0};
  siginfo_t info;
  int number;
  while ((number = sigtimedwait(set, &info, &none)) > 0)
    if (number != SIGNAL) printf("%d %d\n", number, info.si_code);
}

/* Computing, and asleep, while they wait. */
static void blocked(int at_once) {
  const sigset_t set = block_all();
  if (!at_once) work(300);
  kill(getpid(), SIGSEGV);
  kill(getpid(), SIGBUS);
  raise(SIGSEGV);
  work(300);
  rest(900);
  take(&set);
}

static void* wait_in_thread(void* argument) {
  sigset_t set = block_up_to(31), waiting;
  (void)argument;
  pthread_kill(pthread_self(), SIGBUS);
  work(200);
  sigpending(&waiting);
  printf("%d\n", sigismember(&waiting, SIGBUS));
  take(&set);
  return NULL;
}

static void in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_in_thread, NULL);
  pthread_join(thread, NULL);
}

/* On a busy machine it may be long before the parent is where it is to be interrupted. */
static void wait_until_asleep(pid_t pid) {
  char path[48], text[128];
  int look;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  for (look = 0; look < 3000; ++look) {
    const int file = open(path, O_RDONLY);
    const long bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    if (strstr(text, ") S ") != NULL) return;
    rest(10);
  }
}

static pid_t send_later(int number, int then_write) {
  const pid_t to = getpid(), child = fork();
  if (child != 0) return child;
  rest(300);
  wait_until_asleep(to);
  kill(to, number);
  rest(100);
  if (then_write >= 0 && write(then_write, "x", 1) != 1) _exit(1);
  _exit(0);
}

static void in_calls(int ignored) {
  /* It is interrupted, or nothing comes of the signal. */
  const struct timespec time = {ignored ? 0 : 60, 500000000};
  char byte;
  int ends[2], left;
  if (ignored)
    signal(SIGSEGV, SIG_IGN);
  else
    handle(SIGSEGV, count, SA_RESTART);
  work(200);
  if (pipe(ends) != 0) return;
  send_later(SIGSEGV, ends[1]);
  left = (int)read(ends[0], &byte, 1);
  printf("read %d %d\n", left, left < 0 ? errno : 0);
  send_later(SIGSEGV, -1);
  printf("sleep %d, handled %d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), got);
  while (wait(NULL) > 0) continue;
}

static void heirs(void) {
  signal(SIGBUS, SIG_IGN);
  signal(SIGSEGV, SIG_IGN);
  work(200);
  fflush(stdout);
  /* Not the two above that the C library keeps for itself: it starts by system() with them ignored,
   * and one of them is our timer's (docs/adr/0029-woken-by-work.md). */
  if (system("kill -SEGV $$; grep SigIgn /proc/self/status | tail -c 8") != 0) printf("ended\n");
  execlp("sh", "sh", "-c", "grep SigIgn /proc/self/status | tail -c 8", (char*)NULL);
}

/* One wait in a thread's life that unblocks signals may end early (docs/stacks.md): this one, on a
 * machine where the worker thread had no processor to see that all are blocked. */
static void wait_once(void) {
  const struct timespec none = {0, 0};
  sigset_t set;
  sigemptyset(&set);
  ppoll(NULL, 0, &none, &set);
}

static void suspended(int by_default) {
  const int numbers[] = {SIGSEGV, SIGNAL, SIGIO};
  sigset_t set = block_all();
  int i, result;
  for (i = by_default ? 1 : 0; i < (by_default ? 3 : 1); ++i) {
    pid_t child = by_default ? fork() : 0;
    int status;
    if (child == 0) {
      if (!by_default) handle(numbers[i], count, 0);
      work(200);
      wait_once();
      send_later(numbers[i], -1);
      sigemptyset(&set);
      if (by_default) {
        result = sigsuspend(&set);
      } else {
        result = ppoll(NULL, 0, NULL, &set);
      }
      printf("returned %d, handled %d\n", result, got);
      if (by_default) _exit(0);
      wait(NULL);
      return;
    }
    waitpid(child, &status, 0);
    printf("ended by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
}

static void by_queue(void) {
  const struct mq_attr attributes = {0, 1, 8, 0, {0}};
  struct sigevent event;
  char name[32];
  mqd_t queue;
  snprintf(name, sizeof name, "/sent_faults-%d", (int)getpid());
  queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  mq_unlink(name);
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGNAL;
  work(200);
  mq_notify(queue, &event);
  mq_send(queue, "x", 1, 0);
  work(100);
  printf("survived\n");
}

static void old_ways(void) {
  work(200);
  printf("%d\n", sigset(SIGNAL, count) == SIG_DFL);
  work(100);
  printf("%d\n", got);
  raise(SIGNAL);
  printf("%d %d\n", got, sigset(SIGNAL, SIG_HOLD) == count);
  sigignore(SIGNAL - 1);
  siginterrupt(SIGNAL, 1);
  printf("%d\n", sigset(SIGNAL, SIG_DFL) == SIG_HOLD);
}

static void pending(void) {
  sigset_t set;
  int number, some = 0;
  work(300);
  block_all();
  work(20);
  sigpending(&set);
  for (number = 1; number < SIGRTMAX; ++number) some += sigismember(&set, number) == 1;
  raise(SIGNAL);
  sigpending(&set);
  printf("%d %d\n", some, sigismember(&set, SIGNAL));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "blocked") == 0) blocked(0);
  if (strcmp(what, "early") == 0) blocked(1);
  if (strcmp(what, "thread") == 0) in_thread();
  if (strcmp(what, "ignored") == 0) in_calls(1);
  if (strcmp(what, "restart") == 0) in_calls(0);
  if (strcmp(what, "heirs") == 0) heirs();
  if (strcmp(what, "suspend") == 0) suspended(0);
  if (strcmp(what, "default") == 0) suspended(1);
  if (strcmp(what, "queue") == 0) by_queue();
  if (strcmp(what, "old") == 0) old_ways();
  if (strcmp(what, "pending") == 0) pending();
  return 0;
}
