/* SPDX-License-Identifier: Apache-2.0
 * Opens, through a library with a RUNPATH of its own, a plugin only that RUNPATH finds. */
#include <stdio.h>
extern int open_plugin(void);
int main(void) {
  int value = open_plugin();
  printf("plugin says %d\n", value);
  return value != 42;
}
