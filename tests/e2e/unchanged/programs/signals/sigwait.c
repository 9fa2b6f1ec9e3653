/* SPDX-License-Identifier: Apache-2.0
 * A thread that waits for every signal gets the one it was sent and no other. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void* waiter(void* arg) {
  sigset_t all;
  int got = 0;
  (void)arg;
  sigfillset(&all);
  sigwait(&all, &got);
  printf("sigwait: %d\n", got);
  return NULL;
}

int main(void) {
  sigset_t all;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_create(&thread, NULL, waiter, NULL);
  usleep(300000);
  kill(getpid(), SIGUSR1);
  pthread_join(thread, NULL);
  return 0;
}
