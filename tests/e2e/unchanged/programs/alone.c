// SPDX-License-Identifier: Apache-2.0
//
// What the kernel allows to a process of one thread only, by name and by `syscall`. Prints each
// result and error.
//
// usage: alone MILLISECONDS [starved]   (it computes that long before)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "starved.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void compute(long milliseconds) {
  struct timespec now;
  long begun = 0, ms;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (begun == 0) begun = ms;
  } while (ms - begun < milliseconds);
}

static void say(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result == 0 ? "" : strerror(errno));
  fflush(stdout);
}

static int own_namespace(const char* name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/ns/%s", name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// Each in a process of its own would be alone there: the calls that leave this one as it was first.
int main(int count, char** arguments) {
  compute(count > 1 ? atol(arguments[1]) : 0);
  if (count > 2) starve_the_others();
  const int mounts = own_namespace("mnt"), time = own_namespace("time");
  say("setns of mounts", setns(mounts, CLONE_NEWNS));
  say("syscall setns of mounts", syscall(SYS_setns, mounts, CLONE_NEWNS));
  say("syscall setns of any kind", syscall(SYS_setns, mounts, 0));
  say("syscall setns of time", syscall(SYS_setns, time, CLONE_NEWTIME));
  say("syscall setns of no descriptor", syscall(SYS_setns, -1, CLONE_NEWNS));
  say("syscall unshare of signal handlers", syscall(SYS_unshare, CLONE_SIGHAND));
  say("syscall unshare of memory", syscall(SYS_unshare, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD));
  say("syscall unshare of nothing known", syscall(SYS_unshare, 1));
  say("syscall unshare of users", syscall(SYS_unshare, CLONE_NEWUSER));
  compute(20);
  say("unshare of users", unshare(CLONE_NEWUSER));
  compute(20);
  return 0;
}
