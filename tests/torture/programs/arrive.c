// SPDX-License-Identifier: Apache-2.0
//
// Libraries arrive in a program in the ways that programs know. Prints what became of each, the
// same at every run.
//
// usage: torture_arrive HOW LIBRARY...
//   main | threads | deepbind | namespace | failing | closed | turns   (opened in this way)
//   python | python-thread | python-deepbind | python-again            (libpython, then code)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int failures;

static void fail(const char* what) {
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
  printf("%s: %s\n", what, dlerror());
}

static void* opened(const char* path, int how) {
  void* library = dlopen(path, how);
  if (library == NULL) fail("dlopen");
  return library;
}

static void closed(void* library) {
  if (library != NULL && dlclose(library) != 0) fail("dlclose");
}

// Its first call goes through a table that may be bound only now.
static void use(void* library) {
  void (*function)(void) =
      library != NULL ? (void (*)(void))dlsym(library, "arrivals_called") : NULL;
  if (function != NULL) function();
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void compute(int milliseconds) {
  volatile unsigned sum = 0;
  for (long end = now_ms() + milliseconds; now_ms() < end;)
    for (unsigned i = 0; i < 10000; ++i) sum = sum + i;
}

static void open_one(const char* path, int how) {
  void* library = opened(path, how);
  use(library);
  compute(20);
  closed(library);
}

static void* open_in_thread(void* path) {
  open_one(path, RTLD_NOW | RTLD_LOCAL);
  return NULL;
}

static void open_by_threads(char** paths, int count) {
  pthread_t threads[64];
  if (count > 64) count = 64;
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, open_in_thread, paths[i]);
  compute(50);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void open_in_namespace(const char* path) {
  void* library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("dlmopen");
  compute(20);
  use(library);
  closed(library);
}

// It needs what nobody has: mapped, listed, and gone again.
static void open_in_vain(const char* path) {
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL && strstr(dlerror(), "undefined symbol") != NULL) ++refused;
    closed(library);
    compute(2);
  }
  printf("refused %d\n", refused);
}

static void open_and_close(char** paths, int count, int milliseconds) {
  for (int i = 0; i < 50; ++i) {
    void* library = opened(paths[i % count], RTLD_LAZY | RTLD_LOCAL);
    if (milliseconds != 0) use(library), compute(milliseconds);
    closed(library);
  }
}

static void run_python(char** words, int how, int times) {
  for (int i = 0; i < times; ++i) {
    void* library = opened(words[0], how);
    if (library == NULL) return;
    void (*begin)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
    int (*run)(const char*, void*) =
        (int (*)(const char*, void*))dlsym(library, "PyRun_SimpleStringFlags");
    int (*end)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
    begin(0);
    if (run(words[1], NULL) != 0) ++failures;
    if (end() != 0) ++failures;
    closed(library);
  }
}

static void* python_in_thread(void* words) {
  run_python(words, RTLD_NOW | RTLD_GLOBAL, 1);
  return NULL;
}

static int run(const char* how, char** words, int count) {
  const int one_by_one = !strcmp(how, "main")       ? RTLD_NOW | RTLD_GLOBAL
                         : !strcmp(how, "deepbind") ? RTLD_LAZY | RTLD_DEEPBIND
                                                    : 0;
  for (int i = 0; i < count && one_by_one != 0; ++i) open_one(words[i], one_by_one);
  if (one_by_one != 0) return 1;
  for (int i = 0; i < count && !strcmp(how, "namespace"); ++i) open_in_namespace(words[i]);
  for (int i = 0; i < count && !strcmp(how, "failing"); ++i) open_in_vain(words[i]);
  if (!strcmp(how, "threads")) open_by_threads(words, count);
  if (!strcmp(how, "closed")) open_and_close(words, count, 0);
  if (!strcmp(how, "turns")) open_and_close(words, count, 5);
  if (strncmp(how, "python", 6) != 0) return 1;
  if (count < 2) return 0;
  pthread_t thread;
  if (!strcmp(how, "python-thread"))
    return pthread_create(&thread, NULL, python_in_thread, words) == 0 &&
           pthread_join(thread, NULL) == 0;
  run_python(words,
             !strcmp(how, "python-deepbind") ? RTLD_NOW | RTLD_DEEPBIND : RTLD_NOW | RTLD_GLOBAL,
             !strcmp(how, "python-again") ? 3 : 1);
  return 1;
}

int main(int count, char** arguments) {
  if (count < 3 || !run(arguments[1], arguments + 2, count - 2)) return 2;
  printf("done %s failures %d\n", arguments[1], failures);
  return failures != 0;
}
