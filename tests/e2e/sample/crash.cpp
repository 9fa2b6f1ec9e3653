// SPDX-License-Identifier: Apache-2.0
//
// Dies, or handles a fault, in one of the ways programs do.
//
// usage: sampler_crash WAY   ways: see kWays. What the program's own handler saw is printed.
//
// Context:  tests
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

volatile int g_sink;
volatile int g_recovered;
void* g_page;

void work_a_little() {
  // Long enough for the sampler to be on.
  usleep(150'000);
  for (int i = 0; i < 20'000'000; ++i) g_sink = g_sink + 1;
}

[[gnu::noinline]] void null_read() { g_sink = *static_cast<volatile int*>(nullptr); }
[[gnu::noinline]] void not_canonical() {
  g_sink = *reinterpret_cast<volatile int*>(0x8000'0000'0000'1234ull);
}
[[gnu::noinline]] int overflow(int depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  return overflow(depth + 1) + room[0];
}

void say(int signal, siginfo_t* info, void*) {
  char line[120];
  const int bytes = std::snprintf(line, sizeof line, "handler: signal %d code %d addr %p\n", signal,
                                  info->si_code, info->si_addr);
  if (write(1, line, static_cast<std::size_t>(bytes)) < 0) _exit(99);
}
void say_and_leave(int signal, siginfo_t* info, void* context) {
  say(signal, info, context);
  _exit(42);
}
void say_and_die(int signal, siginfo_t* info, void* context) {
  say(signal, info, context);
  ::signal(signal, SIG_DFL);
}
void repair(int signal, siginfo_t* info, void*) {
  if (info->si_addr != g_page) _exit(98);
  mprotect(g_page, 4096, PROT_READ | PROT_WRITE);
  g_recovered = g_recovered + 1;
  (void)signal;
}

struct sigaction g_previous;
void chain(int signal, siginfo_t* info, void* context) {
  say(signal, info, context);
  sigaction(signal, &g_previous, nullptr);  // what faulthandler does
}

void handle(void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(SIGSEGV, &action, &g_previous);
}

void on_alternate_stack() {
  stack_t alternate{};
  alternate.ss_size = 256 << 10;
  alternate.ss_sp = std::malloc(alternate.ss_size);
  sigaltstack(&alternate, nullptr);
}

int repaired_often() {
  g_page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  handle(repair);
  work_a_little();
  for (int i = 0; i < 200; ++i) {
    *static_cast<volatile int*>(g_page) = i;
    mprotect(g_page, 4096, PROT_NONE);
    usleep(2000);
  }
  std::printf("recovered %d\n", g_recovered);
  return g_recovered == 200 ? 0 : 1;
}

struct Way {
  const char* name;
  int (*run)();
};
constexpr Way kWays[] = {
    {"null",
     [] {
       work_a_little();
       null_read();
       return 0;
     }},
    {"noncanonical",
     [] {
       work_a_little();
       not_canonical();
       return 0;
     }},
    {"abort",
     [] {
       work_a_little();
       std::abort();
       return 0;
     }},
    {"overflow",
     [] {
       work_a_little();
       return overflow(0);
     }},
    {"kill",
     [] {
       work_a_little();
       kill(getpid(), SIGSEGV);
       sleep(5);
       return 0;
     }},
    {"ignored",
     [] {
       signal(SIGSEGV, SIG_IGN);
       work_a_little();
       kill(getpid(), SIGSEGV);
       std::puts("ignored");
       return 7;
     }},
    {"handler",
     [] {
       handle(say_and_leave);
       work_a_little();
       null_read();
       return 0;
     }},
    {"handler-late",
     [] {
       work_a_little();
       handle(say_and_leave);
       work_a_little();
       null_read();
       return 0;
     }},
    {"handler-kill",
     [] {
       handle(say_and_leave);
       work_a_little();
       kill(getpid(), SIGSEGV);
       sleep(5);
       return 0;
     }},
    {"handler-noncanonical",
     [] {
       handle(say_and_leave);
       work_a_little();
       not_canonical();
       return 0;
     }},
    {"handler-dies",
     [] {
       handle(say_and_die);
       work_a_little();
       null_read();
       return 0;
     }},
    {"resethand",
     [] {
       handle(say, SA_RESETHAND);
       work_a_little();
       null_read();
       return 0;
     }},
    {"chained",
     [] {
       handle(chain);
       work_a_little();
       null_read();
       return 0;
     }},
    {"chained-late",
     [] {
       work_a_little();
       handle(chain);
       work_a_little();
       null_read();
       return 0;
     }},
    {"overflow-handler",
     [] {
       on_alternate_stack();
       handle(say_and_leave, SA_ONSTACK);
       work_a_little();
       return overflow(0);
     }},
    {"repaired", repaired_often},
};

}  // namespace

int main(int argc, char** argv) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const Way& way : kWays)
    if (argc > 1 && std::strcmp(way.name, argv[1]) == 0) return way.run();
  for (const Way& way : kWays) std::puts(way.name);
  return 2;
}
