/* SPDX-License-Identifier: Apache-2.0
 * Threads of this process but the calling one get hardly any processor, as on a machine that has
 * far more to do than it can: one processor for all, six loops on it, and the idle class for the
 * others. For some seconds: else they might get none, on a busy machine, for longer than anybody
 * waits. */
#pragma once
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STARVED_S 3

static void stay_on(int processor, int thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(thread, sizeof one, &one);
}

static void set_scheduler(int process, int but, int processor, int policy) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR* tasks = opendir(path);
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    const int thread = atoi(task->d_name);
    const struct sched_param none = {0};
    if (thread == 0) continue;
    if (processor >= 0) stay_on(processor, thread);
    if (thread != but) sched_setscheduler(thread, policy, &none);
  }
  if (tasks != NULL) closedir(tasks);
}

static void starve_the_others(void) {
  const int processor = sched_getcpu(), own = (int)syscall(SYS_gettid), process = getpid();
  for (int i = 0; i < 6; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on(processor, 0);
    alarm(STARVED_S);
    for (volatile unsigned long turn = 0;; ++turn) {
    }
  }
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sleep(STARVED_S);
    set_scheduler(process, own, -1, SCHED_OTHER);
    _exit(0);
  }
  set_scheduler(process, own, processor, SCHED_IDLE);
}
