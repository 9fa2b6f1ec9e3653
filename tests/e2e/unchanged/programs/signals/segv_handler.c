/* SPDX-License-Identifier: Apache-2.0
 * A program that repairs its own faults: sees the right address and code each time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static char* page;
static int faults, wrong;

static void on_fault(int s, siginfo_t* info, void* context) {
  (void)context;
  if (s != SIGSEGV || info->si_addr != page || info->si_code != SEGV_ACCERR) ++wrong;
  ++faults;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main(void) {
  struct sigaction a;
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(&a, 0, sizeof a);
  a.sa_sigaction = on_fault;
  a.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &a, NULL);
  for (int i = 0; i < 20000; ++i) {
    mprotect(page, 4096, PROT_NONE);
    page[0] = 1;
  }
  printf("faults %d wrong %d\n", faults, wrong);
  return wrong != 0;
}
