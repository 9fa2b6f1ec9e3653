/* SPDX-License-Identifier: Apache-2.0
 * The first descriptor a program opens is 3, and closing everything from 3 on hurts nobody. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int fd = open("/dev/null", O_RDONLY);
  printf("first open: %d\n", fd);
  close(fd);
  closefrom(3);
  fd = open("/dev/null", O_RDONLY);
  printf("after closefrom: %d\n", fd);
  for (volatile long i = 0; i < 200000000L; ++i) {
  }
  printf("errno %d\n", errno);
  return 5;
}
