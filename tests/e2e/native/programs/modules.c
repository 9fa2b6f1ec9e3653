// SPDX-License-Identifier: Apache-2.0
//
// Loads many libraries while a profiler may be busy, then works a little in each.
// usage: modules FOLDER COUNT: libraries FOLDER/many_0.so and on; waits for FOLDER/go and FOLDER/on
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu_s(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void work_until(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  while (access(path, F_OK) != 0)
    for (double end = cpu_s() + 0.01; cpu_s() < end;) continue;
}

int main(int count, char** words) {
  const int libraries = count == 3 ? atoi(words[2]) : 0;
  work_until(words[1], "go");
  void (**hot)(double) = calloc((size_t)libraries + 1, sizeof *hot);
  for (int i = 0; i < libraries; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/many_%d.so", words[1], i);
    void* library = dlopen(path, RTLD_NOW);
    if (library == NULL) return 1;
    *(void**)&hot[i] = dlsym(library, "hot_many");
  }
  puts("loaded");
  fflush(stdout);
  work_until(words[1], "on");
  for (int i = 0; i < libraries; ++i) hot[i](0.01);
  return 7;
}
