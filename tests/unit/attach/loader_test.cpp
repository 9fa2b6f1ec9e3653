// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/loader.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "daemon/attach/process/process_memory.hpp"

namespace gpuprof::attach {
namespace {

const ProgramFile kAsks{ELFCLASS64, "ld-linux-x86-64.so.2"};

bool nothing(std::uint64_t, void*, std::size_t) { return false; }

/// This process, as its loader would describe it in another state.
bool works_with(const r_debug& state) {
  const ProcessMemory memory(getpid());
  const MemoryReader reader = [&](std::uint64_t address, void* to, std::size_t bytes) {
    if (!memory.read(address, to, bytes)) return false;
    if (bytes == sizeof state) memcpy(to, &state, bytes);
    return true;
  };
  return is_loader_busy(read_maps(getpid()), kAsks, reader);
}

TEST(Loader, OfAProgramThatRunsHasDoneItsWork) {
  const ProgramFile self = program_file(getpid());
  EXPECT_EQ(self.elf_class, ELFCLASS64);
  EXPECT_TRUE(is_loader(self.loader)) << self.loader;
  EXPECT_FALSE(is_loader_busy(getpid()));
}

TEST(Loader, WorksUntilWhatItBringsIsConsistent) {
  link_map first{};
  r_debug state{};
  EXPECT_TRUE(works_with(state)) << "it has not begun";
  state.r_map = &first;
  EXPECT_FALSE(works_with(state));
  state.r_state = r_debug::RT_ADD;
  EXPECT_TRUE(works_with(state));
}

TEST(Loader, ThatIsAskedForAndNotThereIsOnItsWay) {
  EXPECT_TRUE(is_loader_busy({}, kAsks, nothing));
  EXPECT_TRUE(
      is_loader_busy(parse_maps("1000-2000 r--p 0 8:1 7 /lib/ld-linux.so.2\n"), kAsks, nothing));
}

TEST(Loader, OfAnotherKindIsNotWaitedFor) {
  const Maps musl = parse_maps("1000-2000 r-xp 0 8:1 7 /lib/ld-musl-x86_64.so.1\n");
  EXPECT_FALSE(is_loader_busy({}, {ELFCLASS64, ""}, nothing)) << "static";
  EXPECT_FALSE(is_loader_busy(musl, {ELFCLASS64, "ld-musl-x86_64.so.1"}, nothing));
  EXPECT_FALSE(is_loader_busy(parse_maps("1000-2000 r--p 0 8:1 7 /lib/ld-linux.so.2\n"),
                              {ELFCLASS32, ""}, nothing));
}

}  // namespace
}  // namespace gpuprof::attach
