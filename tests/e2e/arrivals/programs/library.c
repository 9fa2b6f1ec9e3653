// SPDX-License-Identifier: Apache-2.0
//
// A library with the names that a profiler looks for, whose load is held up in the middle. What is
// called before the load is over ends the program: by itself, as nothing is relocated, or by abort.
//
// HOLD_RESOLVER     in the resolver of an indirect function, while its calls are not bound yet
// HOLD_DESCRIPTOR   the same with thread-local data reached by descriptors, and much of it
// HOLD_CONSTRUCTOR  in a constructor
// HOLD_THREAD       in a constructor, until a thread made by it has waited, forked and ended
// (none)            not held up; its calls are bound at the first call of each (linked with -z
// lazy)
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

// Nothing is bound yet where this is called.
static inline void hold_up(void) {
  struct timespec wait = {0, 100 * 1000 * 1000};
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_nanosleep), "D"(&wait), "S"(0L)
                   : "rcx", "r11", "memory");
#else
  register long number __asm__("x8") = SYS_nanosleep;
  register long first __asm__("x0") = (long)&wait;
  register long second __asm__("x1") = 0;
  __asm__ volatile("svc #0" : "+r"(first) : "r"(number), "r"(second) : "memory");
#endif
}

static atomic_int loaded;
EXPORT atomic_int arrivals_calls;

#ifdef HOLD_DESCRIPTOR
static __thread char large[1 << 20];
static __thread int changed_thread;
#endif

// Called through the table of calls, which is bound late.
EXPORT void arrivals_called(void) {
  if (!atomic_load(&loaded)) abort();
#ifdef HOLD_DESCRIPTOR
  large[changed_thread++ & 1023] = 1;
#endif
  atomic_fetch_add(&arrivals_calls, 1);
}

#if defined(HOLD_RESOLVER) || defined(HOLD_DESCRIPTOR)
static int selected(void) { return 1; }
static int (*choose(void))(void) {
  hold_up();
  return selected;
}
static int indirect(void) __attribute__((ifunc("choose")));
EXPORT int (*arrivals_pointer)(void) = indirect;
#endif

#ifdef HOLD_THREAD
static void* be_somebody(void* nothing) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGURG);
  const struct timespec at_once = {0, 0};
  sigtimedwait(&set, NULL, &at_once);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  if (fd >= 0) close(fd);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, NULL, 0);
  return nothing;
}
#endif

__attribute__((constructor)) static void begin(void) {
#ifdef HOLD_CONSTRUCTOR
  hold_up();
#endif
#ifdef HOLD_THREAD
  pthread_t thread;
  if (pthread_create(&thread, NULL, be_somebody, NULL) == 0) pthread_join(thread, NULL);
  hold_up();
#endif
  atomic_store(&loaded, 1);
}

// CPython 3.11, with something else where its first interpreter is named.
EXPORT const unsigned long Py_Version = 0x030b07f0;
EXPORT unsigned long _PyRuntime[20000] = {[5] = 16};
EXPORT unsigned long PyCode_Type[64] = {1};
EXPORT void* PyGILState_GetThisThreadState(void) {
  arrivals_called();
  return NULL;
}

#define ZERO(name)         \
  EXPORT long name(void) { \
    arrivals_called();     \
    return 0;              \
  }
// The CUDA driver: no device.
EXPORT int cuDriverGetVersion(int* version) {
  arrivals_called();
  *version = 12040;
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  arrivals_called();
  *count = 0;
  return 0;
}
ZERO(cuInit)
// PyTorch: as much of it as is asked for before anything is called, but for one.
ZERO(_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE)
ZERO(_ZNK2at14RecordFunction4nameEv)
// Without _ZN2at14removeCallbackEm it is an older one, and left alone.

// CUPTI: one that does not tell its version.
EXPORT int cuptiGetVersion(unsigned* version) {
  arrivals_called();
  *version = 0;
  return 1;
}
ZERO(cuptiGetResultString)
ZERO(cuptiSubscribe)
ZERO(cuptiUnsubscribe)
ZERO(cuptiEnableCallback)
ZERO(cuptiEnableDomain)
ZERO(cuptiActivityRegisterCallbacks)
ZERO(cuptiActivityEnable)
ZERO(cuptiActivityDisable)
ZERO(cuptiActivityGetNextRecord)
ZERO(cuptiActivityGetNumDroppedRecords)
ZERO(cuptiActivityFlushAll)
ZERO(cuptiGetTimestamp)
ZERO(cuptiActivitySetAttribute)
ZERO(cuptiActivityGetAttribute)
