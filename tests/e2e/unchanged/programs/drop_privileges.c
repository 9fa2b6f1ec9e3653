/* SPDX-License-Identifier: Apache-2.0
 * Root gives up its user but keeps its capabilities, then changes groups: capabilities are kept for
 * the calling thread only, and the C library compares what its threads were reported. */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct caps[2];
  usleep(50000);
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) perror("prctl");
  if (setresuid(65534, 65534, 65534) != 0) perror("setresuid");
  memset(caps, 0, sizeof caps);
  if (syscall(SYS_capget, &header, caps) != 0) perror("capget");
  caps[0].effective = caps[0].permitted;
  caps[1].effective = caps[1].permitted;
  if (syscall(SYS_capset, &header, caps) != 0) perror("capset");
  if (setgroups(0, NULL) != 0) perror("setgroups");
  if (setresgid(65534, 65534, 65534) != 0) perror("setresgid");
  printf("user %d group %d groups %d\n", (int)getuid(), (int)getgid(), getgroups(0, NULL));
  return 0;
}
