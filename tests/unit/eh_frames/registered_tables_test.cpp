// SPDX-License-Identifier: Apache-2.0
//
// Tables come and go.
#include "inject/eh_frames/registered_tables.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "eh_frame_builder.hpp"

namespace gpuprof::frames {
namespace {

int g_retired = 0;

// Nobody else reads here.
void retire(SharedMapping* mapping) {
  ++g_retired;
  munmap(mapping, mapping->map_bytes);
}

// A time that is later each time, by more than any pause.
bool refresh() {
  static std::uint64_t now_ns = 0;
  return rebuild_index(now_ns += 1'000'000'000'000, retire);
}

class Registered : public testing::Test {
 protected:
  void TearDown() override { drop_index(retire); }

  struct Module {
    EhFrameBuilder section;
    std::uintptr_t code, entry;
  };
  Module make(std::uintptr_t offset = 0x10000) {
    Module module;
    module.code = module.section.at() + offset;
    module.entry = module.section.entry(module.section.common(), module.code, 0x40);
    module.section.end();
    return module;
  }
  static void enter(Module& module) { on_register_frame(module.section.data()); }
  static void leave(Module& module) { on_deregister_frame(module.section.data()); }
};

TEST_F(Registered, IsKnownAfterTheNextLook) {
  Module module = make();
  Fde found;
  enter(module);
  EXPECT_FALSE(find_fde(module.code, &found));
  EXPECT_TRUE(refresh());
  ASSERT_TRUE(find_fde(module.code + 0x3f, &found));
  EXPECT_EQ(module.entry, found.at);
  EXPECT_FALSE(find_fde(module.code + 0x40, &found));
  EXPECT_FALSE(find_fde(module.code - 1, &found));
  EXPECT_FALSE(refresh()) << "nothing is new";
  leave(module);
}

TEST_F(Registered, IsNotUsedFromTheMomentItIsTakenBack) {
  Module module = make();
  Fde found;
  enter(module);
  refresh();
  ASSERT_TRUE(find_fde(module.code, &found));
  leave(module);
  EXPECT_FALSE(find_fde(module.code, &found)) << "without a look in between";
  enter(module);  // at the same place, perhaps with something else in it
  EXPECT_FALSE(find_fde(module.code, &found));
  EXPECT_TRUE(refresh());
  EXPECT_TRUE(find_fde(module.code, &found));
  leave(module);
}

TEST_F(Registered, OfTwoForOneAddressTheNewerCounts) {
  Module old = make();
  Module young = make();
  young.section = EhFrameBuilder();
  young.entry = young.section.entry(young.section.common(), old.code + 0x10, 0x10);
  young.section.end();
  Fde found;
  enter(old);
  refresh();
  enter(young);
  refresh();
  ASSERT_TRUE(find_fde(old.code + 0x18, &found));
  EXPECT_EQ(young.entry, found.at);
  EXPECT_FALSE(find_fde(old.code, &found));
  leave(old);
  leave(young);
}

TEST_F(Registered, MemoryThatHasGoneIsNoTable) {
  constexpr std::size_t kBytes = 8192;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(memory, kBytes);
  Fde found;
  on_register_frame(memory);
  on_register_frame(nullptr);
  EXPECT_TRUE(refresh());
  EXPECT_FALSE(find_fde(reinterpret_cast<std::uintptr_t>(memory), &found));
  on_deregister_frame(memory);
  on_deregister_frame(memory);  // once too often
  on_deregister_frame(nullptr);
}

TEST_F(Registered, IsReadAgainAfterItWasForgotten) {
  Module module = make();
  Fde found;
  enter(module);
  refresh();
  const int before = g_retired;
  drop_index(retire);
  EXPECT_EQ(before + 1, g_retired);
  EXPECT_FALSE(find_fde(module.code, &found));
  EXPECT_TRUE(refresh());
  EXPECT_TRUE(find_fde(module.code, &found));
  leave(module);
}

TEST_F(Registered, MayComeAndGoInManyThreads) {
  std::vector<std::thread> threads;
  std::vector<Module> modules(8);
  for (Module& module : modules) module = make();
  for (Module& module : modules)
    threads.emplace_back([&module] {
      for (int i = 0; i < 2000; ++i) {
        enter(module);
        leave(module);
      }
      enter(module);
    });
  for (std::thread& one : threads) one.join();
  refresh();
  Fde found;
  for (Module& module : modules) {
    EXPECT_TRUE(find_fde(module.code, &found));
    leave(module);
    EXPECT_FALSE(find_fde(module.code, &found));
  }
}

}  // namespace
}  // namespace gpuprof::frames
