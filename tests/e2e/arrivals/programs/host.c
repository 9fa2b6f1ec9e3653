// SPDX-License-Identifier: Apache-2.0
//
// Opens libraries on a thread while another one computes. Each stays open until it was called, if
// somebody calls it, for a while at the most.
//
// usage: host ROUNDS MOST_ROUNDS WAIT_MS LIBRARY...   (so many rounds, and more until one was
// called)
//        prints for each library and round "called LIBRARY" or "opened LIBRARY", at the end "end"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int over;

static void* compute(void* sum) {
  while (!atomic_load(&over))
    for (int i = 0; i < 10000; ++i) *(volatile unsigned*)sum += (unsigned)i;
  return sum;
}

static int was_called(void* library, int wait_ms) {
  atomic_int* calls = dlsym(library, "arrivals_calls");
  const struct timespec moment = {0, 10 * 1000 * 1000};
  for (int i = 0; i < wait_ms / 10 && atomic_load(calls) == 0; ++i) nanosleep(&moment, NULL);
  return atomic_load(calls) != 0;
}

struct Job {
  int rounds, most_rounds, wait_ms, count;
  char** paths;
};

static void* open_all(void* data) {
  const struct Job* job = data;
  int some = 0;
  for (int i = 0; i < (some ? job->rounds : job->most_rounds) * job->count; ++i) {
    const char* path = job->paths[i % job->count];
    void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
      puts(dlerror());
      exit(3);
    }
    const int called = was_called(library, job->wait_ms);
    some |= called;
    printf("%s %s\n", called ? "called" : "opened", path);
    fflush(stdout);
    dlclose(library);
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  struct Job job = {atoi(arguments[1]), atoi(arguments[2]), atoi(arguments[3]), count - 4,
                    arguments + 4};
  unsigned sum = 0;
  pthread_t busy, opening;
  pthread_create(&busy, NULL, compute, &sum);
  pthread_create(&opening, NULL, open_all, &job);
  pthread_join(opening, NULL);
  atomic_store(&over, 1);
  pthread_join(busy, NULL);
  puts("end");
  return 0;
}
