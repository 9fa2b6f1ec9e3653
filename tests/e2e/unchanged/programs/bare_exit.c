/* SPDX-License-Identifier: Apache-2.0
 * Its only thread ends by the bare system call: the kernel then ends the process with its status.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  usleep(100000);
  syscall(SYS_exit, 7);
}
