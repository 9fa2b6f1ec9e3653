/* SPDX-License-Identifier: Apache-2.0
 * vfork, exec and _exit in the child, posix_spawn, and the parent's state afterwards. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    int status = 0;
    pid_t pid = vfork();
    if (pid == 0) {
      if (i % 2 == 0) execl("/bin/true", "true", (char*)0);
      _exit(3);
    }
    waitpid(pid, &status, 0);
    sum += WEXITSTATUS(status);
  }
  for (int i = 0; i < 20; ++i) {
    pid_t pid;
    int status = 0;
    char* const argv[] = {"false", NULL};
    if (posix_spawn(&pid, "/bin/false", NULL, NULL, argv, environ) == 0) waitpid(pid, &status, 0);
    sum += WEXITSTATUS(status);
  }
  printf("sum %d\n", sum);
  return 0;
}
