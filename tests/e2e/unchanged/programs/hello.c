/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
int main(void) {
  printf("hello from %d bits\n", (int)(8 * sizeof(void*)));
  return 7;
}
