// SPDX-License-Identifier: Apache-2.0
//
// Files that compilers at run time write for perf.
#include "analysis/symbols/perf_map.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/symbols/perf_map_registry.hpp"

namespace gpuprof::symbols {
namespace {

TEST(PerfMapEntries, NamesWhatItHolds) {
  PerfMapEntries text;
  text.append("7f0010 b py::leaf:/x/prog.py\n0x7f0020 10 JS:*foo bar /a.js:3:1\n");
  EXPECT_EQ(text.name_at(0x7f0010), "py::leaf:/x/prog.py");
  EXPECT_EQ(text.name_at(0x7f001a), "py::leaf:/x/prog.py");
  EXPECT_EQ(text.name_at(0x7f001b), "");
  EXPECT_EQ(text.name_at(0x7f002f), "JS:*foo bar /a.js:3:1");
  EXPECT_EQ(text.name_at(0x7f000f), "");
}

TEST(PerfMapEntries, TheLatestEntryOfAnAddressCounts) {
  PerfMapEntries text;
  text.append("1000 100 old\n1040 20 new\n");
  EXPECT_EQ(text.name_at(0x1039), "old");
  EXPECT_EQ(text.name_at(0x1040), "new");
  EXPECT_EQ(text.name_at(0x105f), "new");
  EXPECT_EQ(text.name_at(0x1060), "old");
  text.append("f00 1000 over all\n");
  EXPECT_EQ(text.name_at(0x1040), "over all");
  text.append("1000 100 again\n");
  EXPECT_EQ(text.name_at(0x0fff), "over all");
  EXPECT_EQ(text.name_at(0x1000), "again");
  EXPECT_EQ(text.name_at(0x1100), "over all");
}

TEST(PerfMapEntries, TakesALineInPieces) {
  PerfMapEntries text;
  text.append("10");
  text.append("00 10 a na");
  EXPECT_EQ(text.name_at(0x1000), "");
  text.append("me\n2000 ");
  EXPECT_EQ(text.name_at(0x1000), "a name");
  EXPECT_EQ(text.name_at(0x2000), "");
}

TEST(PerfMapEntries, PassesOverWhatIsNoEntry) {
  PerfMapEntries text;
  text.append(
      "\n\nhello\n1000\n1000 zz x\n1000 0 empty\nffffffffffffffff 10 over\n1000 10\n1000 10 \n");
  text.append(std::string(200'000, '1') + "\n");
  text.append(std::string("3000 10 ") + std::string(60'000, 'x') + "\n");
  text.append("4000 10 bad\x01\xff name\n");
  EXPECT_EQ(text.name_at(0x1000), "");
  EXPECT_EQ(text.name_at(0x3000).size(), PerfMapEntries::kMaxName);
  EXPECT_NE(text.name_at(0x4000), "");
  EXPECT_EQ(text.name_at(0x4000).find('\x01'), std::string::npos);
}

/// A root folder with a tmp in it.
class PerfMapFile : public testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/perf_map_test.XXXXXX";
    root_ = mkdtemp(made);
    std::filesystem::create_directory(root_ + "/tmp");
    path_ = root_ + "/tmp/perf-7.map";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  PerfMapOrigin origin(std::time_t from_s = 0) const {
    PerfMapOrigin origin;
    origin.root.reset(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    origin.path = "tmp/perf-7.map";
    origin.owners = {getuid()};
    origin.from_s = from_s;
    return origin;
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  std::string root_, path_;
};

TEST_F(PerfMapFile, IsReadOnAsItGrows) {
  PerfMap map(origin());
  EXPECT_EQ(map.name_at(0x1000), "");
  write("1000 10 first\n");
  usleep(250'000);
  EXPECT_EQ(map.name_at(0x1000), "first");
  write("2000 10 second\n");
  usleep(250'000);
  EXPECT_EQ(map.name_at(0x2000), "second");
  EXPECT_EQ(map.name_at(0x1000), "first");
}

TEST_F(PerfMapFile, OfBeforeTheProcessIsNotBelieved) {
  write("1000 10 stale\n");
  PerfMap map(origin(std::time(nullptr) + 100));
  EXPECT_EQ(map.name_at(0x1000), "");
}

TEST_F(PerfMapFile, OfAnotherUserIsNotBelieved) {
  write("1000 10 planted\n");
  PerfMapOrigin other = origin();
  other.owners = {getuid() + 1};
  PerfMap map(std::move(other));
  EXPECT_EQ(map.name_at(0x1000), "");
}

TEST_F(PerfMapFile, IsNoLinkAndNoFifo) {
  std::ofstream(root_ + "/secret") << "1000 10 secret\n";
  ASSERT_EQ(symlink((root_ + "/secret").c_str(), path_.c_str()), 0);
  PerfMap linked(origin());
  EXPECT_EQ(linked.name_at(0x1000), "");
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  PerfMap fifo(origin());
  EXPECT_EQ(fifo.name_at(0x1000), "");
}

TEST_F(PerfMapFile, IsLookedForInTheProcesssOwnRoot) {
  // An absolute link in it is followed as the process would.
  std::filesystem::rename(root_ + "/tmp", root_ + "/elsewhere");
  ASSERT_EQ(symlink("/elsewhere", (root_ + "/tmp").c_str()), 0);
  std::ofstream(root_ + "/elsewhere/perf-7.map") << "1000 10 inside\n";
  PerfMap map(origin());
  EXPECT_EQ(map.name_at(0x1000), "inside");
}

TEST(PerfMapRegistry, FindsTheMapOfALivingProcess) {
  PerfMapRegistry maps;
  EXPECT_EQ(maps.find(static_cast<std::uint32_t>(getpid())), nullptr);
  maps.watch(static_cast<std::uint32_t>(getpid()), 12345);  // another process had the number
  EXPECT_EQ(maps.find(static_cast<std::uint32_t>(getpid())), nullptr);
  maps.watch(static_cast<std::uint32_t>(getpid()), 0);
  const auto map = maps.find(static_cast<std::uint32_t>(getpid()));
  ASSERT_NE(map, nullptr);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ofstream(path) << "1000 10 own\n";
  EXPECT_EQ(map->name_at(0x1008), "own");
  unlink(path.c_str());
}

}  // namespace
}  // namespace gpuprof::symbols
