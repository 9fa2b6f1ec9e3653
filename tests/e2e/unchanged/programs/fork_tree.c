/* SPDX-License-Identifier: Apache-2.0
 * A tree of forks; each node does some work and adds its depth to the exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int node(int depth) {
  volatile double x = 0;
  for (long i = 0; i < 3000000L; ++i) x += 1;
  int total = 1;
  if (depth == 0) return total;
  for (int i = 0; i < 3; ++i) {
    pid_t pid = fork();
    if (pid == 0) _exit(node(depth - 1));
    int status = 0;
    waitpid(pid, &status, 0);
    total += WEXITSTATUS(status);
  }
  return total;
}

int main(void) {
  printf("nodes %d\n", node(3));
  return 0;
}
