// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/maps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuprof::attach {
namespace {

TEST(Maps, ReadsEveryField) {
  const Maps maps = parse_maps(
      "7f0000001000-7f0000003000 r-xp 00002000 fe:01 4242      /usr/lib/my libc.so.6 (deleted)\n");
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].start, 0x7f0000001000U);
  EXPECT_EQ(maps[0].end, 0x7f0000003000U);
  EXPECT_EQ(maps[0].offset, 0x2000U);
  EXPECT_TRUE(maps[0].readable && !maps[0].writable && maps[0].executable && !maps[0].shared);
  EXPECT_EQ(maps[0].inode, 4242U);
  EXPECT_EQ(maps[0].path, "/usr/lib/my libc.so.6 (deleted)");
  EXPECT_EQ(file_name(maps[0]), "my libc.so.6");
}

TEST(Maps, LeavesOutWhatIsNoMapping) {
  EXPECT_TRUE(parse_maps("").empty());
  EXPECT_TRUE(
      parse_maps("\n\nhello\n1000\n1000-2000\n1000-2000 r\nxyz-2000 r--p 0 0:0 0\n").empty());
  const Maps cut = parse_maps("1000-2000 rw-s 00000000 00:00 0 \n3000-40");
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_TRUE(cut[0].shared);
  EXPECT_EQ(cut[0].path, "");
}

TEST(Maps, FindsTheMappingOfAnAddress) {
  const Maps maps = parse_maps("1000-2000 r--p 0 0:0 0\n3000-4000 r--p 0 0:0 0\n");
  EXPECT_EQ(mapping_of(maps, 0xfff), nullptr);
  EXPECT_EQ(mapping_of(maps, 0x1000), &maps[0]);
  EXPECT_EQ(mapping_of(maps, 0x2000), nullptr);
  EXPECT_EQ(mapping_of(maps, 0x3fff), &maps[1]);
  EXPECT_EQ(mapping_of(maps, 0x4000), nullptr);
}

TEST(Maps, OwnStackIsFound) {
  int here = 0;
  const Maps maps = read_maps(getpid());
  const Mapping* mapping = mapping_of(maps, reinterpret_cast<std::uint64_t>(&here));
  ASSERT_NE(mapping, nullptr);
  EXPECT_TRUE(mapping->writable);
}

TEST(Maps, KnowsLibrariesByName) {
  EXPECT_TRUE(is_glibc("libc.so.6") && is_glibc("libc-2.31.so"));
  EXPECT_FALSE(is_glibc("libcuda.so.1") || is_glibc("libc10.so") ||
               is_glibc("libc.musl-x86_64.so.1"));
  EXPECT_TRUE(is_loader("ld-linux-x86-64.so.2") && is_loader("ld-2.31.so"));
  EXPECT_FALSE(is_loader("ld-musl-x86_64.so.1") || is_loader("libld.so"));
  EXPECT_TRUE(is_musl("ld-musl-x86_64.so.1"));
  EXPECT_TRUE(is_allocator("libjemalloc.so.2") && is_allocator("libtcmalloc_minimal.so.4"));
}

}  // namespace
}  // namespace gpuprof::attach
