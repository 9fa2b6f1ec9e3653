/* SPDX-License-Identifier: Apache-2.0
 * A handler that needs 3 KB of an alternate stack of 8 KB, as SIGSTKSZ was: there is no room for
 * the frame of another signal over it. Its action is read back as it was set. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kStack = 8192, kNeeded = 3000, kGuard = 4096 };

static volatile int handled;
static volatile unsigned long sink;

static void handle(int number) {
  volatile char needed[kNeeded];
  int i;
  (void)number;
  for (i = 0; i < kNeeded; i += 64) needed[i] = 1;
  for (i = 0; i < 100000; ++i) sink += (unsigned long)needed[0];
  ++handled;
}

static void raise_often(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  char* memory =
      mmap(NULL, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  mprotect(memory, kGuard, PROT_NONE);
  stack.ss_sp = memory + kGuard;
  stack.ss_size = kStack;
  sigaltstack(&stack, NULL);
  while (clock() < end) raise(SIGUSR1);
}

static void show(void) {
  struct sigaction action;
  int number;
  sigaction(SIGUSR1, NULL, &action);
  printf("%s handler, flags %x, mask", action.sa_handler == handle ? "our" : "another",
         (unsigned)action.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
  for (number = 1; number <= SIGRTMAX; ++number)
    if (sigismember(&action.sa_mask, number) == 1) printf(" %d", number);
  printf("\n");
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(SIGUSR1, &action, NULL); /* before anybody looks */
  raise_often(0.8);
  show();
  sigaddset(&action.sa_mask, SIGHUP);
  sigaction(SIGUSR1, &action, &action);
  show();
  raise_often(0.8);
  printf("handled: %s\n", handled > 100 ? "often" : "seldom");
  return 0;
}
