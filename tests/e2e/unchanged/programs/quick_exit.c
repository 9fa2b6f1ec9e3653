/* SPDX-License-Identifier: Apache-2.0
 * at_quick_exit handlers run, atexit handlers do not. */
#include <stdio.h>
#include <stdlib.h>

static void quick(void) {
  puts("quick handler");
  fflush(stdout);
}
static void late(void) { puts("atexit handler"); }

int main(void) {
  at_quick_exit(quick);
  atexit(late);
  quick_exit(9);
}
