// SPDX-License-Identifier: Apache-2.0
//
// A compiler at run time: two functions without frame pointers, and the unwind table that says how
// to leave them, registered with the runtime. Then other code in their place.
//
// usage: registered CPU_SECONDS deregister|forget
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <initializer_list>
#include <thread>

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

namespace {

constexpr std::size_t kBytes = 8192, kTable = 4096;
constexpr int kFrame = 72, kOtherFrame = 0x88;

class Writer {
 public:
  explicit Writer(unsigned char* at) : at_(at) {}
  void bytes(std::initializer_list<int> all) {
    for (const int one : all) *at_++ = static_cast<unsigned char>(one);
  }
  void word(std::uint32_t value) {
    memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  unsigned char* at() const { return at_; }

 private:
  unsigned char* at_;
};

// lea, since what makes and what leaves the frame must be known from the table alone.
// long outer(long (*inner)(long), long rounds): a frame of kFrame bytes
unsigned char* write_outer(unsigned char* at) {
  Writer code(at);
  code.bytes({0x48, 0x8d, 0x64, 0x24, 0x100 - kFrame});  // lea -72(%rsp), %rsp
  code.bytes({0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7});      // mov %rdi, %rax; mov %rsi, %rdi
  code.bytes({0xff, 0xd0});                              // call *%rax
  code.bytes({0x48, 0x8d, 0x64, 0x24, kFrame, 0xc3});    // lea 72(%rsp), %rsp; ret
  return code.at();
}

// long inner(long rounds): uses the frame pointer for something else
unsigned char* write_inner(unsigned char* at) {
  Writer code(at);
  code.bytes({0x48, 0x8d, 0x64, 0x24, 0xd8});        // lea -40(%rsp), %rsp
  code.bytes({0x48, 0x89, 0x6c, 0x24, 0x20});        // mov %rbp, 32(%rsp)
  code.bytes({0x48, 0x89, 0xfd});                    // mov %rdi, %rbp
  code.bytes({0x48, 0xff, 0xcd, 0x75, 0xfb});        // 1: dec %rbp; jnz 1b
  code.bytes({0x48, 0x8b, 0x6c, 0x24, 0x20});        // mov 32(%rsp), %rbp
  code.bytes({0x48, 0x8d, 0x64, 0x24, 0x28, 0xc3});  // lea 40(%rsp), %rsp; ret
  return code.at();
}

// One entry; `after`: advance 5 bytes, the frame is `cfa` large; what follows is written by `more`.
template <typename More>
void write_entry(Writer& table, const unsigned char* common, const unsigned char* begin,
                 const unsigned char* end, int cfa, More more) {
  unsigned char* const length = table.at();
  table.word(0);
  table.word(static_cast<std::uint32_t>(table.at() - common));
  table.word(static_cast<std::uint32_t>(begin - table.at()));
  table.word(static_cast<std::uint32_t>(end - begin));
  table.bytes({0, 0x45, 0x0e, cfa});
  more();
  table.bytes({0, 0, 0});
  while ((table.at() - length) % 8 != 4) table.bytes({0});
  const auto bytes = static_cast<std::uint32_t>(table.at() - length - 4);
  memcpy(length, &bytes, sizeof bytes);
}

struct Generated {
  unsigned char* memory;
  unsigned char* inner;
};

Generated make() {
  auto* memory = static_cast<unsigned char*>(mmap(
      nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) exit(1);
  unsigned char* const outer_end = write_outer(memory);
  unsigned char* const inner = memory + 256;
  unsigned char* const inner_end = write_inner(inner);
  Writer table(memory + kTable);
  const unsigned char* const common = table.at();
  table.word(20);
  table.word(0);
  table.bytes({1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b});
  table.bytes({0x0c, 7, 8, 0x90, 1, 0, 0});  // the frame begins at %rsp + 8, the caller below it
  write_entry(table, common, memory, outer_end, kFrame + 8, [] {});
  write_entry(table, common, inner, inner_end, 48, [&] { table.bytes({0x45, 0x86, 2}); });
  table.word(0);
  __register_frame(memory + kTable);
  return {memory, inner};
}

using Outer = long (*)(void*, long);

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The address behind the call in it, as a stale table would find it.
const void* g_behind_call = nullptr;

__attribute__((noinline)) long call_generated(unsigned char* code, void* inner, double seconds) {
  long sum = 0;
  for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;)
    sum += reinterpret_cast<Outer>(code)(inner, 1'000'000) + 1;
  return sum;
}

long thrower(long what) { throw what; }

// The runtime itself knows the tables, too.
bool passes_an_exception(const Generated& code) {
  try {
    reinterpret_cast<Outer>(code.memory)(reinterpret_cast<void*>(thrower), 5);
  } catch (long what) {
    return what == 5;
  }
  return false;
}

// Another outer(): a larger frame, with an address in it where the old one's caller was.
void write_other(unsigned char* at, const void* planted) {
  Writer code(at);
  code.bytes({0x48, 0x8d, 0xa4, 0x24});  // lea -0x88(%rsp), %rsp
  code.word(static_cast<std::uint32_t>(-kOtherFrame));
  code.bytes({0x48, 0xb8});  // movabs $planted, %rax
  memcpy(code.at(), &planted, sizeof planted);
  code = Writer(code.at() + sizeof planted);
  code.bytes({0x48, 0x89, 0x44, 0x24, kFrame});  // mov %rax, 72(%rsp)
  code.bytes({0x48, 0xff, 0xce, 0x75, 0xfb});    // 1: dec %rsi; jnz 1b
  code.bytes({0x48, 0x8d, 0xa4, 0x24});
  code.word(kOtherFrame);
  code.bytes({0xc3});
}

__attribute__((noinline)) long call_other(unsigned char* code, double seconds) {
  long sum = 0;
  for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;)
    sum += reinterpret_cast<Outer>(code)(nullptr, 1'000'000) + 1;
  return sum;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const double seconds = atof(words[1]);
  const Generated first = make();
  long sum = call_generated(first.memory, first.inner, seconds);
  if (!passes_an_exception(first)) return 3;
  g_behind_call = reinterpret_cast<const char*>(call_generated) + 1;
  if (strcmp(words[2], "deregister") == 0) __deregister_frame(first.memory + kTable);
  munmap(first.memory, kBytes);
  void* again = mmap(first.memory, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (again != first.memory) return 1;
  write_other(first.memory, g_behind_call);
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "other");
    sum += call_other(first.memory, seconds);
  });
  other.join();
  printf("%s\n", sum != 0 ? "done" : "");
  return 7;
}
