// SPDX-License-Identifier: Apache-2.0
//
// Numbers that a process or a file makes up come out of a spool so that they can be added up.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::spool {
namespace {

class MadeUpNumbers : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-spool-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/p.spool"; }

  std::string folder_;
};

TEST_F(MadeUpNumbers, TimesThatNoClockShowsAreBroughtNear) {
  // given spans that end before they begin, last for centuries or begin in the far future
  const std::pair<std::uint64_t, std::uint64_t> sent[] = {
      {1000, 900}, {1000, ~0ULL}, {1000, 1ULL << 60}, {~0ULL, ~0ULL}, {0, 1ULL << 63}, {5, 6}};
  auto writer = ProcessWriter::create(path()).take();
  for (const auto& [start, end] : sent) {
    model::Sync sync{};
    sync.start_ns = start, sync.end_ns = end;
    writer->on(sync);
  }
  writer->on(model::ProcessEnd{~0ULL, 0, 0});
  writer->flush();
  // when replayed
  struct Spans : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::ProcessEnd& e) override { ended_ns = e.ts_ns; }
    std::uint64_t ended_ns = 0;
    void on(const model::Sync& e) override { seen.emplace_back(e.start_ns, e.end_ns); }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  } got;
  ASSERT_TRUE(replay(path(), {}, got).ok());
  // then none is longer than can be added up, and honest ones are as they were
  ASSERT_EQ(got.seen.size(), std::size(sent));
  for (const auto& [start, end] : got.seen) {
    EXPECT_LE(start, kMaxTimeNs);
    EXPECT_GE(end, start);
    EXPECT_LE(end - start, kMaxDurationNs);
  }
  EXPECT_EQ(got.ended_ns, kMaxTimeNs);
  EXPECT_EQ(got.seen.front().second, 1000u);
  EXPECT_EQ(got.seen.back(), sent[5]);
}

TEST_F(MadeUpNumbers, AnAllocationIsNoLargerThanAnyMachine) {
  const std::int64_t sent[] = {INT64_MIN, INT64_MAX, -4096, 1LL << 40};
  auto writer = ProcessWriter::create(path()).take();
  for (const std::int64_t bytes : sent) {
    model::Allocation allocation{};
    allocation.bytes = bytes;
    allocation.total_allocated_bytes = static_cast<std::uint64_t>(bytes);
    writer->on(allocation);
  }
  writer->flush();
  struct Sizes : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::Allocation& e) override {
      seen.push_back(e.bytes);
      most = std::max(most, e.total_allocated_bytes);
    }
    std::uint64_t most = 0;
    std::vector<std::int64_t> seen;
  } got;
  ASSERT_TRUE(replay(path(), {}, got).ok());
  EXPECT_EQ(got.seen, (std::vector<std::int64_t>{-kMaxBytes, kMaxBytes, -4096, 1LL << 40}));
  EXPECT_EQ(got.most, static_cast<std::uint64_t>(kMaxBytes));
}

}  // namespace
}  // namespace gpuprof::spool
