/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread may do to itself, by its own instruction, that no call of ours survives: it forbids
 * itself the time stamp counter (t), has its system calls sent back (d), has no thread-local
 * block (b). Works until SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
static volatile int done, sent;
static volatile char selector;
static void on_term(int number) {
  (void)number;
  selector = 0;
  done = 1;
}
static void on_call(int number) {
  (void)number;
  selector = 0;
  ++sent;
}
int main(int count, char** words) {
  const char what = count > 1 ? words[1][0] : 't';
  unsigned long block = 0;
  signal(SIGTERM, on_term);
  signal(SIGSYS, on_call);
  if (what == 't' && call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 2;
  if (what == 'd' && call(SYS_prctl, 59, 1, 0, 0, (long)&selector) != 0) return 2;
  if (what == 'b') call(SYS_arch_prctl, 0x1003, (long)&block, 0, 0, 0);
  call(SYS_write, 1, (long)"ready\n", 6, 0, 0);
  if (what == 'b') call(SYS_arch_prctl, 0x1002, 0, 0, 0, 0);
  if (what == 'd') selector = 1;
  while (!done) {
  }
  selector = 0;
  if (what == 'b') call(SYS_arch_prctl, 0x1002, block, 0, 0, 0);
  if (what == 't') call(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  return sent != 0 ? 5 : 3;
}
