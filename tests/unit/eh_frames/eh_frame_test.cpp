// SPDX-License-Identifier: Apache-2.0
//
// What a section says, and what is no section.
#include "inject/eh_frames/eh_frame.hpp"

#include <gtest/gtest.h>

#include <random>

#include "eh_frame_builder.hpp"

namespace gpuprof::frames {
namespace {

struct Reading {
  std::uintptr_t low, high;  // what can be read
  std::size_t wanted = SIZE_MAX;
  std::size_t reads = 0;
  std::vector<Fde> entries{};
};

bool read(std::uintptr_t at, Reading* reading) {
  return read_eh_frame(
      at, {[](void* from, std::uintptr_t address, void* to, std::size_t bytes) {
             auto& here = *static_cast<Reading*>(from);
             ++here.reads;
             if (address < here.low || address > here.high || here.high - address < bytes)
               return false;
             std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
             return true;
           },
           [](void* from, const Fde& entry) {
             auto& here = *static_cast<Reading*>(from);
             here.entries.push_back(entry);
             return here.entries.size() < here.wanted;
           },
           reading});
}

Reading all_of(const EhFrameBuilder& section) { return {section.at(), section.here()}; }

TEST(EhFrame, TellsOfEachEntryWhatItIsAbout) {
  EhFrameBuilder section;
  const std::uintptr_t code = section.at() + 0x10000;
  const std::uintptr_t common = section.common();
  const std::uintptr_t first = section.entry(common, code, 0x40);
  const std::uintptr_t second = section.entry(common, code + 0x40, 0x100);
  section.end();
  Reading reading = all_of(section);
  EXPECT_TRUE(read(section.at(), &reading));
  ASSERT_EQ(2u, reading.entries.size());
  EXPECT_EQ(code, reading.entries[0].begin);
  EXPECT_EQ(code + 0x40, reading.entries[0].end);
  EXPECT_EQ(first, reading.entries[0].at);
  EXPECT_EQ(common, reading.entries[0].cie);
  EXPECT_EQ(second, reading.entries[1].at);
  EXPECT_EQ(code + 0x140, reading.entries[1].end);
}

TEST(EhFrame, KnowsWholeAddressesAndHandlers) {
  EhFrameBuilder section;
  const std::uintptr_t common = section.here();
  section.value<std::uint32_t>(36);
  section.value<std::uint32_t>(0);
  section.bytes({1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 0x10, 11, 0});
  section.value<std::uint64_t>(0x1234);
  section.bytes({0x1b, 0x00, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0});
  section.value<std::uint32_t>(24);
  section.value<std::uint32_t>(static_cast<std::uint32_t>(section.here() - common));
  section.value<std::uint64_t>(0x7f0000001000);
  section.value<std::uint64_t>(0x20);
  section.bytes({0, 0, 0, 0});
  section.end();
  Reading reading = all_of(section);
  EXPECT_TRUE(read(section.at(), &reading));
  ASSERT_EQ(1u, reading.entries.size());
  EXPECT_EQ(0x7f0000001000u, reading.entries[0].begin);
  EXPECT_EQ(0x7f0000001020u, reading.entries[0].end);
}

TEST(EhFrame, PassesOverWhatItDoesNotKnow) {
  EhFrameBuilder section;
  const std::uintptr_t code = section.at() + 0x10000;
  section.entry(section.common(0x1b, 0), code, 0x40);  // says nothing about the frame
  section.entry(section.common(0x9b), code, 0x40);     // an address of an address
  section.entry(section.at() - 64, code, 0x40);        // a common part that cannot be read
  section.entry(section.common(), code, 0);            // about nothing
  section.entry(section.common(), code + 0x100, 0x40);
  section.end();
  Reading reading = all_of(section);
  EXPECT_TRUE(read(section.at(), &reading));
  ASSERT_EQ(1u, reading.entries.size());
  EXPECT_EQ(code + 0x100, reading.entries[0].begin);
}

TEST(EhFrame, EndsWhereItCannotBeReadAndWhereNoMoreIsWanted) {
  EhFrameBuilder section;
  const std::uintptr_t common = section.common();
  for (int i = 0; i < 10; ++i) section.entry(common, section.at() + 0x10000 + 64 * i, 64);
  Reading reading = all_of(section);  // without an end mark
  EXPECT_FALSE(read(section.at(), &reading));
  EXPECT_EQ(10u, reading.entries.size());
  Reading some{section.at(), section.here(), 3};
  EXPECT_TRUE(read(section.at(), &some));
  EXPECT_EQ(3u, some.entries.size());
}

TEST(EhFrame, OfAnyBytesComesToAnEnd) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    EhFrameBuilder section;
    const std::uintptr_t common = section.common();
    for (int k = 0; k < 6; ++k) section.entry(common, section.at() + 0x10000 + 64 * k, 64);
    section.end();
    const std::size_t bytes = section.here() - section.at();
    for (int k = 0; k < 4; ++k)
      section.data()[random() % bytes] = static_cast<unsigned char>(random());
    Reading reading = all_of(section);
    read(section.at(), &reading);
    EXPECT_LT(reading.reads, 4 * bytes);
    for (const Fde& entry : reading.entries) EXPECT_LT(entry.begin, entry.end);
  }
}

}  // namespace
}  // namespace gpuprof::frames
