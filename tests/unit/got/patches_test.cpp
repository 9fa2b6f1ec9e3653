// SPDX-License-Identifier: Apache-2.0
//
// Functions replaced in libraries that are mapped already, and put back.
#include "inject/got/patches.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "inject/got/got_slots.hpp"
#include "inject/got/slot_write.hpp"

namespace gpuprof::got {
namespace {

int ours(int n) { return n + 1000; }

const Replacement kRows[] = {{"got_test_answer", reinterpret_cast<void*>(&ours), true},
                             {"got_test_nobody", reinterpret_cast<void*>(&ours), true},
                             {}};
const Replacement kNothing[] = {{}};
const Replacement kOthersOnly[] = {{"got_test_answer", reinterpret_cast<void*>(&ours), false}, {}};

/// One of the libraries of this test, loaded RTLD_LOCAL.
class Loaded {
 public:
  explicit Loaded(const char* file, int how = RTLD_NOW)
      : handle_(dlopen((std::string(GOT_FOLDER) + "/" + file).c_str(), how | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Loaded() { close(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  void close() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }
  int call(const char* function, int n) const {
    return reinterpret_cast<int (*)(int)>(dlsym(handle_, function))(n);
  }
  bool has_nobody() const {
    return reinterpret_cast<bool (*)()>(dlsym(handle_, "got_test_has_nobody"))();
  }

 private:
  void* handle_;
};

// Everything of /proc/self/maps but addresses of anonymous memory, which tests themselves take.
std::string protections_of(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  std::string all, line;
  while (std::getline(maps, line))
    if (line.find(library) != std::string::npos) all += line + "\n";
  return all;
}

class Got : public ::testing::TestWithParam<const char*> {};

TEST_P(Got, CallsGoThroughUsAndBackAgain) {
  const Loaded caller(GetParam());
  Patches patches(kRows);
  EXPECT_EQ(caller.call("got_test_call", 1), 200);
  const std::string before = protections_of(GetParam());
  EXPECT_GE(patches.apply().slots, 1u);
  EXPECT_EQ(caller.call("got_test_call", 1), 100100);
  EXPECT_EQ(protections_of(GetParam()), before);
  patches.restore();
  EXPECT_EQ(caller.call("got_test_call", 1), 200);
  EXPECT_EQ(protections_of(GetParam()), before);
  EXPECT_EQ(patches.slots(), 0u);
}

// It may be relocated only later.
TEST_P(Got, OfTheFirstModulesNoneCameByDlopen) {
  const Loaded caller(GetParam());
  Patches patches(kRows);
  EXPECT_EQ(patches.apply_to_initial().slots, 0u);
  EXPECT_EQ(caller.call("got_test_call", 1), 200);
  patches.restore();
}

TEST_P(Got, AReferenceThatNobodyDefinesStaysEmpty) {
  const Loaded caller(GetParam());
  Patches patches(kRows);
  patches.apply();
  EXPECT_FALSE(caller.has_nobody());
  patches.restore();
}

TEST_P(Got, LibrariesThatComeLaterAreFollowed) {
  Patches patches(kRows);
  const std::uint32_t first = patches.apply().slots;
  const Loaded caller(GetParam());
  EXPECT_EQ(caller.call("got_test_call", 1), 200);
  EXPECT_GT(patches.apply().slots, first);
  EXPECT_EQ(caller.call("got_test_call", 1), 100100);
  patches.restore();
  EXPECT_EQ(caller.call("got_test_call", 1), 200);
}

TEST_P(Got, ALibraryMayGoAndComeAgainMeanwhile) {
  Patches patches(kRows);
  for (int i = 0; i < 50; ++i) {
    Loaded caller(GetParam());
    patches.apply();
    ASSERT_EQ(caller.call("got_test_call", 1), 100100) << i;
    if (i % 3 == 0) patches.restore();
  }
  Loaded caller(GetParam());
  patches.apply();
  caller.close();
  patches.restore();
}

TEST_P(Got, ManyTimesWhileOtherThreadsCall) {
  const Loaded caller(GetParam());
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> calls{0}, wrong{0};
  std::thread calling([&] {
    while (!over.load()) {
      const int answer = caller.call("got_test_call", 1);
      if (answer != 200 && answer != 100100) wrong.fetch_add(1);
      calls.fetch_add(1);
    }
  });
  Patches patches(kRows);
  for (int i = 0; i < 300; ++i) {
    patches.apply();
    patches.restore();
  }
  while (calls.load() < 1000) std::this_thread::yield();
  over.store(true);
  calling.join();
  EXPECT_EQ(wrong.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(BoundKind, Got,
                         ::testing::Values("libgot_lazy.so", "libgot_now.so",
                                           "libgot_versioned.so"),
                         [](const auto& library) {
                           const std::string name = library.param;
                           return name.substr(7, name.size() - 10);
                         });

TEST(GotSlots, ALazyReferenceThatWasNeverBoundIsReplacedToo) {
  const Loaded caller("libgot_lazy.so", RTLD_LAZY);
  Patches patches(kRows);
  patches.apply();
  EXPECT_EQ(caller.call("got_test_call", 1), 100100);
  patches.restore();
  EXPECT_EQ(caller.call("got_test_call", 1), 200) << "bound by the loader as if we had never been";
}

TEST(GotSlots, WhatALibraryCallsOfItsOwnGoesThroughUsOnlyIfAsked) {
  const Loaded callee("libgot_callee.so");
  Patches others(kOthersOnly);
  others.apply();
  EXPECT_EQ(callee.call("got_test_inner", 1), 2);
  others.restore();
  Patches all(kRows);
  all.apply();
  EXPECT_EQ(callee.call("got_test_inner", 1), 1001);
  all.restore();
  EXPECT_EQ(callee.call("got_test_inner", 1), 2);
}

// Finds the slot of got_test_answer in a library.
struct Wanted {
  const char* file;
  std::uintptr_t* slot;
};
int find_slot(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  if (std::string(info->dlpi_name).find(wanted.file) == std::string::npos) return 0;
  GotSlots(*info).for_each([&](const char* name, std::uintptr_t* at, bool) {
    if (std::string(name) == "got_test_answer") wanted.slot = at;
  });
  return 1;
}

TEST(GotSlots, WhatSomebodyElseWroteSinceIsLeftAlone) {
  const Loaded caller("libgot_lazy.so");
  Wanted wanted{"libgot_lazy.so", nullptr};
  dl_iterate_phdr(find_slot, &wanted);
  ASSERT_NE(wanted.slot, nullptr);
  const std::uintptr_t real = *wanted.slot;
  Patches patches(kRows);
  patches.apply();
  const auto theirs = reinterpret_cast<std::uintptr_t>(+[](int n) { return n + 5; });
  ASSERT_TRUE(write_slot(wanted.slot, theirs, true));
  patches.restore();
  EXPECT_EQ(*wanted.slot, theirs);
  ASSERT_TRUE(write_slot(wanted.slot, real, true));
}

TEST(GotSlots, NothingComesFromNothing) {
  Patches patches(kNothing);
  EXPECT_EQ(patches.apply().slots, 0u);
  patches.restore();
  patches.restore();
}

TEST(GotWrite, TheProtectionOfAPageIsRead) {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(protection_of(page), PROT_READ);
  auto* slot = static_cast<std::uintptr_t*>(page) + 3;
  EXPECT_TRUE(write_slot(slot, 77, true));
  EXPECT_EQ(*slot, 77u);
  EXPECT_EQ(protection_of(page), PROT_READ);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(write_slot(slot, 78, true));
  EXPECT_EQ(protection_of(page), PROT_READ | PROT_WRITE) << "a page somebody opened stays open";
  munmap(page, 4096);
  EXPECT_EQ(protection_of(page), -1);
}

TEST(GotFront, ALibraryThatWasNotPreloadedIsNotInFront) { EXPECT_FALSE(is_preloaded()); }

}  // namespace
}  // namespace gpuprof::got
