/* SPDX-License-Identifier: Apache-2.0
 * Threads that have been cancelled (pthread_cancel) make calls that are no cancellation points:
 * each must return, and the thread end only where it says so. The last one ends the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int returned;

static void on_signal(int number) { (void)number; }

static void compute(double seconds) {
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - begun.tv_nsec) <
         seconds);
}

static void by_signal(void) { signal(61, on_signal); }
static void by_sigaction(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(62, &action, NULL);
}
static void* nothing(void* p) { return p; }
static void by_pthread_create(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_detach(thread);
}
static void by_fork(void) {
  int state, status = 0;
  const pid_t child = fork();
  if (child == 0) {
    compute(0.02);
    _exit(7);
  }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  waitpid(child, &status, 0);
  printf("child: %d\n", WEXITSTATUS(status));
  pthread_setcancelstate(state, &state);
}
static void by_signalfd(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  if (signalfd(-1, &set, SFD_CLOEXEC) < 0) puts("no signalfd");
}
static void by_name(void) { prctl(PR_SET_NAME, "renamed"); }
static void by_privileges(void) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static void by_setuid(void) { (void)!setuid(getuid()); }
static void by_setegid(void) { (void)!setegid(getegid()); }
static void by_unshare(void) { unshare(CLONE_FS); }
static void by_namespace(void) { unshare(CLONE_NEWNS); }
static void by_syscall(void) { syscall(SYS_gettid); }
static void by_dlopen(void) { dlopen("libutil.so.1", RTLD_NOW); }
static void by_computing(void) { compute(0.1); }
static void by_exit(void) { exit(3); }

static const struct {
  const char* name;
  void (*call)(void);
} kCalls[] = {
    {"signal", by_signal},
    {"sigaction", by_sigaction},
    {"pthread_create", by_pthread_create},
    {"fork", by_fork},
    {"signalfd", by_signalfd},
    {"prctl", by_name},
    {"setuid", by_setuid},
    {"setegid", by_setegid},
    {"unshare", by_unshare},
    {"unshare (mounts)", by_namespace},
    {"syscall", by_syscall},
    {"dlopen", by_dlopen},
    {"nothing", by_computing},
    {"prctl (privileges)", by_privileges},
    {"exit", by_exit},
};

static void* body(void* call) {
  pthread_cancel(pthread_self());
  (*(void (*const*)(void))call)();
  returned = 1;
  pthread_testcancel();
  return NULL;
}

int main(void) {
  compute(0.15);
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    pthread_t thread;
    void* result = NULL;
    printf("%s: ", kCalls[i].name);
    fflush(stdout);
    returned = 0;
    if (pthread_create(&thread, NULL, body, (void*)&kCalls[i].call) != 0) return 1;
    pthread_join(thread, &result);
    printf("%s, %s\n", returned ? "returned" : "did not return",
           result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  }
  return 0;
}
