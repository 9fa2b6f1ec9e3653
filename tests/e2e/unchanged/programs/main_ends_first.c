/* SPDX-License-Identifier: Apache-2.0
 * The main thread ends before the others: the last of them ends the process, with status 0 and with
 * atexit handlers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void at_the_end(void) { puts("atexit handler"); }

static void* work(void* unused) {
  (void)unused;
  volatile double sum = 0;
  for (int i = 0; i < 50 * 1000 * 1000; ++i) sum += i;
  printf("%g\n", sum);
  return NULL;
}

int main(void) {
  atexit(at_the_end);
  pthread_t thread;
  for (int i = 0; i < 2; ++i) pthread_create(&thread, NULL, work, NULL);
  pthread_detach(thread);
  pthread_exit(NULL);
}
