// SPDX-License-Identifier: Apache-2.0
//
// Where a thread may be interrupted to make another one, by contexts that say where it was.
#include "inject/activation/safe_point.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "inject/modules/signal_safe_lookup.hpp"

namespace gpuprof::wake {
namespace {

std::uintptr_t at(const void* code) { return reinterpret_cast<std::uintptr_t>(code); }

__attribute__((noinline)) int of_the_program(int number) { return number * 3; }
std::uintptr_t in_the_program() { return at(reinterpret_cast<void*>(of_the_program)) + 1; }

std::uintptr_t named(const char* function) { return at(dlsym(RTLD_DEFAULT, function)); }

/// Whether a thread is at rest there, called by `caller` if that can be seen.
bool rests(std::uintptr_t pc, std::uintptr_t caller = 0) {
  const std::uintptr_t stack[2] = {caller, 0};
  ucontext_t context;
  memset(&context, 0, sizeof context);
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(at(stack));
  return is_safe_point(&context);
}

/// Behind the instruction by which a function of the C library makes that call of the kernel.
std::uintptr_t behind_call(const char* function, long number) {
  const std::uintptr_t begin = named(function);
  const auto* code = reinterpret_cast<const unsigned char*>(begin);
  for (std::size_t i = 7; i < 400; ++i) {
    if (code[i - 2] != 0x0f || code[i - 1] != 0x05) continue;
    int loaded = -1;
    if (code[i - 7] == 0xb8) memcpy(&loaded, code + i - 6, sizeof loaded);
    if (code[i - 4] == 0x31 && code[i - 3] == 0xc0) loaded = 0;
    if (loaded == number) return begin + i;
  }
  return 0;
}

void* open_library(const char* kind) {
  void* library =
      dlopen((std::string(ACTIVATION_FOLDER) + "/libactivation_" + kind + ".so").c_str(),
             RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}
std::uintptr_t inside_of(const char* kind) {
  return at(dlsym(open_library(kind), "wake_test_inside")) + 1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnMalloc = true;
#else
constexpr bool kOwnMalloc = false;
#endif

TEST(AtRest, InCodeOfTheProgramAndOfItsLibraries) {
  // A sanitizer's program may hold its allocator.
  EXPECT_TRUE(kOwnMalloc || rests(in_the_program()));
  EXPECT_TRUE(rests(inside_of("library")));
}

TEST(AtRest, NotInTheCLibraryNorTheLoader) {
  for (const char* name : {"qsort", "getenv", "pthread_create", "dl_iterate_phdr", "printf"})
    EXPECT_FALSE(rests(named(name) + 1, in_the_program())) << name;
  EXPECT_FALSE(rests(named("__tls_get_addr") + 1));
}

TEST(AtRest, NotInWhatStandsInForMalloc) { EXPECT_FALSE(rests(inside_of("allocator"))); }

// A compiler at run time has made it: the C library's malloc calls nothing such.
TEST(AtRest, WhereNoFileIs) {
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool known = dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr;
  EXPECT_EQ(rests(at(memory) + 8), known && !kOwnMalloc);
  EXPECT_FALSE(rests(0));
  munmap(memory, 4096);
}

TEST(AtRest, BehindCallsThatHoldNoLock) {
  if (kOwnMalloc) GTEST_SKIP() << "a sanitizer's malloc may be below any call";
  const std::uintptr_t read = behind_call("read", SYS_read),
                       write = behind_call("write", SYS_write);
  if (read == 0) GTEST_SKIP() << "SKIPPED: glibc 2.41 or later makes these by one function";
  ASSERT_NE(write, 0u);
  EXPECT_TRUE(rests(read));
  EXPECT_TRUE(rests(write));
  const std::uintptr_t open = behind_call("open", SYS_openat);
  ASSERT_NE(open, 0u);
  EXPECT_TRUE(rests(open));
  EXPECT_FALSE(rests(read - 1));
  const std::uintptr_t unmap = behind_call("munmap", SYS_munmap),
                       mprotect = behind_call("mprotect", SYS_mprotect);
  ASSERT_NE(unmap, 0u);
  ASSERT_NE(mprotect, 0u);
  EXPECT_FALSE(rests(unmap));
  EXPECT_FALSE(rests(mprotect));
}

// A program that does nothing but ask the kernel is seldom met anywhere else.
TEST(AtRest, BehindACallThatTheProgramItselfMakes) {
  if (kOwnMalloc) GTEST_SKIP() << "calls are the sanitizer's";
  const std::uintptr_t usage = behind_call("getrusage", SYS_getrusage),
                       unmap = behind_call("munmap", SYS_munmap);
  ASSERT_NE(usage, 0u);
  ASSERT_NE(unmap, 0u);
  const std::uintptr_t library = inside_of("library");
  EXPECT_TRUE(rests(usage, library));
  EXPECT_TRUE(rests(unmap, library));
  EXPECT_FALSE(rests(usage, named("realloc") + 8));
  EXPECT_FALSE(rests(unmap, named("free") + 8));
  EXPECT_FALSE(rests(unmap, inside_of("allocator")));
  EXPECT_FALSE(rests(usage - 2, library)) << "before the call";
}

TEST(AtRest, InACopyForTheProgramAlone) {
  if (kOwnMalloc) GTEST_SKIP() << "copies are the sanitizer's";
  // What is called, not the name's own function, which chooses it.
  const std::uintptr_t copy =
      at(reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(memmove)));
  if (!modules::c_library().holds(copy))
    GTEST_SKIP() << "memmove is called by a stub of the program";
  EXPECT_TRUE(rests(copy + 1, in_the_program()));
  EXPECT_FALSE(rests(copy + 1, named("realloc") + 8));
}

TEST(LockFree, KnowsCLibraryAndLoader) {
  // Names that no sanitizer stands in front of.
  EXPECT_TRUE(modules::c_library().holds(named("gnu_get_libc_version")));
  EXPECT_TRUE(modules::dynamic_loader().holds(named("_r_debug")));
  EXPECT_FALSE(modules::dynamic_loader().holds(named("gnu_get_libc_version")));
  EXPECT_STREQ(modules::c_library().name(), "libc.so.6");
}

TEST(LockFree, FindsTheModuleOfRunningCode) {
  const modules::MappedModule own = modules::running_module(in_the_program());
  ASSERT_TRUE(own.known());
  EXPECT_STREQ(own.name(), "");
  if (named("_dl_find_object") == 0) GTEST_SKIP() << "SKIPPED: glibc before 2.35";
  void* library = open_library("library");
  const std::uintptr_t inside = at(dlsym(library, "wake_test_inside"));
  const modules::MappedModule file = modules::running_module(inside);
  EXPECT_STREQ(file.name(), "libactivation_library.so");
  EXPECT_TRUE(file.holds(inside));
  dlclose(library);
}

}  // namespace
}  // namespace gpuprof::wake
