/* SPDX-License-Identifier: Apache-2.0
 * Root becomes nobody, and a moment later no thread of the process is root or has capabilities.
 *
 * usage: give_up_root [capabilities]   those alone, and stays root */
#define _GNU_SOURCE
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int capset(void* header, const void* data);

/* The number behind `key` in the status of a thread. */
static unsigned long long field(const char* status, const char* key, int base) {
  const char* at = strstr(status, key);
  return at == NULL ? 0 : strtoull(at + strlen(key), NULL, base);
}

static void count(int* with_root, int* with_capabilities) {
  char path[320], status[4096];
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (file == NULL) continue;
    status[fread(status, 1, sizeof status - 1, file)] = '\0';
    fclose(file);
    *with_root += field(status, "\nUid:\t", 10) == 0;
    *with_capabilities += field(status, "\nCapPrm:\t", 16) != 0;
  }
  closedir(tasks);
}

int main(int arguments, char** words) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct nothing[2] = {{0, 0, 0}, {0, 0, 0}};
  (void)words;
  usleep(300000);
  if (arguments > 1) {
    if (capset(&header, nothing) != 0) perror("capset");
  } else {
    if (setgroups(0, NULL) != 0) perror("setgroups");
    if (setresgid(65534, 65534, 65534) != 0) perror("setresgid");
    if (setresuid(65534, 65534, 65534) != 0) perror("setresuid");
  }
  /* A moment: until a thread that others than this program made has had a processor. */
  int with_root = 1, with_capabilities = 1;
  for (int look = 0; look < 600 && with_root + with_capabilities != 0; ++look) {
    usleep(100000);
    with_root = with_capabilities = 0;
    count(&with_root, &with_capabilities);
    if (arguments > 1) with_root = 0;
  }
  if (arguments == 1) printf("%d threads of root\n", with_root);
  printf("%d threads with capabilities\n", with_capabilities);
  return 0;
}
