// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/elf_image.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "daemon/attach/process/maps.hpp"

namespace gpuprof::attach {
namespace {

bool read_own(std::uint64_t address, void* to, std::size_t bytes) {
  memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return true;
}

const Mapping* own_libc(const Maps& maps) {
  for (const Mapping& mapping : maps)
    if (mapping.offset == 0 && is_glibc(file_name(mapping))) return &mapping;
  return nullptr;
}

TEST(ElfImage, FindsWhatTheLoaderFinds) {
  const Maps maps = read_maps(getpid());
  const Mapping* libc = own_libc(maps);
  ASSERT_NE(libc, nullptr);
  const auto image = ElfImage::at(libc->start, read_own);
  ASSERT_TRUE(image);
  void* handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(handle, nullptr);
  for (const char* name : {"dlopen", "dlerror", "__errno_location", "fork", "getpid", "malloc"}) {
    const auto found = image->symbol(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, reinterpret_cast<std::uint64_t>(dlsym(handle, name))) << name;
  }
  EXPECT_GT(image->function("fork")->bytes, 0U);
  EXPECT_FALSE(image->symbol("no_such_function_anywhere"));
  EXPECT_FALSE(image->symbol(""));
  EXPECT_EQ(image->build_id().size(), 20U);
  dlclose(handle);
}

TEST(ElfImage, WhatIsNoObjectIsNone) {
  const std::vector<char> zeros(4096);
  EXPECT_FALSE(ElfImage::at(reinterpret_cast<std::uint64_t>(zeros.data()), read_own));
  EXPECT_FALSE(ElfImage::at(0, [](std::uint64_t, void*, std::size_t) { return false; }));
}

// A hostile process: any bytes where tables should be.
TEST(ElfImage, DamagedTablesEndSomewhere) {
  const Maps maps = read_maps(getpid());
  const Mapping* libc = own_libc(maps);
  ASSERT_NE(libc, nullptr);
  std::mt19937 random(1);
  unsigned reads = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const auto image =
        ElfImage::at(libc->start, [&](std::uint64_t at, void* to, std::size_t bytes) {
          if (bytes == 0 || (++reads % 7 == 0 && reads % 5 == 0)) return false;
          if (at < libc->start || at + bytes > libc->start + (1 << 20)) {
            for (std::size_t i = 0; i < bytes; ++i)
              static_cast<char*>(to)[i] = static_cast<char>(random());
            return true;
          }
          memcpy(to, reinterpret_cast<const void*>(libc->start), std::min<std::size_t>(bytes, 64));
          static_cast<char*>(to)[random() % bytes] = static_cast<char>(random());
          return true;
        });
    if (image) image->symbol("dlopen");
  }
  SUCCEED();
}

}  // namespace
}  // namespace gpuprof::attach
