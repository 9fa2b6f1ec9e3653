/* SPDX-License-Identifier: Apache-2.0
 * Threads of this process but the calling one get hardly any processor, as on a machine that has
 * far more to do than it can: one processor for all, six loops on it, and the idle class for the
 * others. */
#pragma once
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void stay_on(int processor, int thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(thread, sizeof one, &one);
}

static void starve_the_others(void) {
  const int processor = sched_getcpu(), own = (int)syscall(SYS_gettid);
  for (int i = 0; i < 6; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on(processor, 0);
    for (volatile unsigned long turn = 0;; ++turn) {
    }
  }
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    const int thread = atoi(task->d_name);
    const struct sched_param none = {0};
    if (thread == 0) continue;
    stay_on(processor, thread);
    if (thread != own) sched_setscheduler(thread, SCHED_IDLE, &none);
  }
  if (tasks != NULL) closedir(tasks);
}
