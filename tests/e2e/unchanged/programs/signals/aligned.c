/* SPDX-License-Identifier: Apache-2.0
 * Has the processor check the alignment of every access while it works: one of a handler's that is
 * not aligned ends the program by SIGBUS. Then makes one itself, which it handles. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void set_check(int on) {
#if defined(__x86_64__)
  if (on)
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | 1ULL << 18);
  else
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(1ULL << 18));
#else
  (void)on;
#endif
}

static void work(void) {
  static volatile unsigned long sum;
  for (unsigned long i = 0; i < 300000000; ++i) sum += i;
}

static void on_bus(int number) {
  set_check(0);
  (void)!write(1, "unaligned\n", 10);
  _exit(number);
}

int main(void) {
  static volatile struct { char one[16]; } bytes;
  signal(SIGBUS, on_bus);
  set_check(1);
  work();
  set_check(0);
  puts("aligned");
  fflush(stdout);
  set_check(1);
  *(volatile int*)(void*)&bytes.one[1] = 1;
  set_check(0);
  return 0;
}
