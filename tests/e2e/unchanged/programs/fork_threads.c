// SPDX-License-Identifier: Apache-2.0
// Threads that fork at the same time, each child at once gone.
// usage: fork_threads THREADS FORKS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static int g_forks, g_well;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

static void* fork_and_wait(void* unused) {
  int well = 0;
  (void)unused;
  for (int i = 0; i < g_forks; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(i % 100);
    int status = 0;
    well += child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
            WEXITSTATUS(status) == i % 100;
  }
  pthread_mutex_lock(&g_lock);
  g_well += well;
  pthread_mutex_unlock(&g_lock);
  return NULL;
}

// Also for Python, which lets its lock go meanwhile.
__attribute__((visibility("default"))) int fork_in_threads(int count, int forks) {
  enum { kMax = 64 };
  pthread_t threads[kMax];
  if (count < 1 || count > kMax) return 2;
  g_forks = forks;
  work(0.3);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, fork_and_wait, NULL) != 0) return 3;
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  printf("%d children of %d\n", g_well, count * g_forks);
  fflush(stdout);
  return 0;
}

int main(int argc, char** argv) {
  return argc == 3 ? fork_in_threads(atoi(argv[1]), atoi(argv[2])) : 2;
}
