// SPDX-License-Identifier: Apache-2.0
//
// What a spool gives back: everything, in order, and nothing that was damaged.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/block.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/spool.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace gpuprof::spool {
namespace {

namespace fs = std::filesystem;

class Spool : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-spool-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name = "p.spool") const { return folder_ + "/" + name; }

  std::string folder_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(Spool, GivesBackEveryKindOfEventFieldByField) {
  // given one event of each kind whose numbers are all different
  test::Remembering sent;
  auto writer = ProcessWriter::create(path()).take();
  // when written and replayed
  test::send_every_event(7, sent);
  test::send_every_event(7, *writer);
  writer->flush();
  test::Remembering got;
  const auto end = replay(path(), {}, got);
  // then all of them are the same
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().complete);
  EXPECT_EQ(got.seen.size(), std::size_t{Kinds::kCount});
  EXPECT_EQ(got.sorted(), sent.sorted());
  EXPECT_EQ(writer->events_written(), 12u);
  EXPECT_EQ(writer->events_lost(), 0u);
}

TEST_F(Spool, KeepsTheOrderAmongEventsAndAmongDefinitions) {
  // given many events over several blocks
  auto writer = ProcessWriter::create(path()).take();
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> times, ids;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    model::ApiCall call{};
    call.start_ns = 1'000'000 + i * 1000 + random() % 999;
    call.end_ns = call.start_ns + random() % 100'000;
    call.correlation = i;
    times.push_back(call.start_ns);
    writer->on(call);
    if (i % 7 == 0) {
      const std::string text = "name " + std::to_string(random());
      writer->on(model::StringDef{i, text});
      ids.push_back(i);
    }
  }
  writer->flush();
  // when
  struct Order : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::ApiCall& e) override { times.push_back(e.start_ns); }
    void on(const model::StringDef& e) override { ids.push_back(e.id); }
    std::vector<std::uint64_t> times, ids;
  } got;
  ASSERT_TRUE(replay(path(), {}, got).ok());
  // then
  EXPECT_EQ(got.times, times);
  EXPECT_EQ(got.ids, ids);
}

TEST_F(Spool, NumbersOfEveryLengthComeBack) {
  // given differences of one bit to 64, up and down, the last of them at the block's very end
  std::vector<std::array<std::uint64_t, 3>> sent;
  for (unsigned bits = 1; bits <= 64; ++bits) {
    const std::uint64_t most = ~0ULL >> (64 - bits);
    for (const std::uint64_t one : {most, most >> 1, most - (most >> 1)})
      sent.push_back({one, 0 - one, one * 0x9e3779b97f4a7c15ULL});
  }
  for (const std::size_t count : {sent.size(), std::size_t{1}, std::size_t{40}}) {
    // when a block of them is written and replayed
    fs::remove(path());
    auto writer = ProcessWriter::create(path()).take();
    for (std::size_t i = 0; i < count; ++i) {
      model::MemCopy copy{};
      copy.range = sent[i][0], copy.bytes = sent[i][1], copy.graph_node = sent[i][2];
      writer->on(copy);
    }
    writer->flush();
    struct Copies : model::IgnoringSink {
      using model::IgnoringSink::on;
      void on(const model::MemCopy& e) override {
        seen.push_back({e.range, e.bytes, e.graph_node});
      }
      std::vector<std::array<std::uint64_t, 3>> seen;
    } got;
    ASSERT_TRUE(replay(path(), {}, got).ok());
    // then
    EXPECT_EQ(got.seen, decltype(sent)(sent.begin(), sent.begin() + static_cast<long>(count)));
  }
}

TEST_F(Spool, DefinitionsComeBeforeTheEventsThatFollowedThem) {
  // given each call's name is defined just before it
  auto writer = ProcessWriter::create(path()).take();
  for (std::uint32_t i = 1; i < 50'000; ++i) {
    writer->on(model::StringDef{i, "a name"});
    model::ApiCall call{};
    call.name = i;
    writer->on(call);
  }
  writer->flush();
  // when
  struct Check : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::StringDef& e) override { last = e.id; }
    void on(const model::ApiCall& e) override { early += e.name > last; }
    std::uint32_t last = 0, early = 0;
  } got;
  ASSERT_TRUE(replay(path(), {}, got).ok());
  // then
  EXPECT_EQ(got.early, 0u);
  EXPECT_EQ(got.last, 49'999u);
}

TEST_F(Spool, SkipsBlocksOutsideTheRangeButNeverDefinitions) {
  // given a hundred thousand samples over 100 s, a fact at the end
  auto writer = ProcessWriter::create(path()).take();
  for (std::uint64_t i = 0; i < 100'000; ++i)
    writer->on(model::Sample{i * 1'000'000, 10, static_cast<std::uint32_t>(i % 3), 5, 0});
  writer->on(model::Fact{"key", "value"});
  writer->flush();
  // when one second is asked for
  struct Count : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::Sample& e) override {
      ++samples;
      inside += e.ts_ns >= 50'000'000'000 && e.ts_ns < 51'000'000'000;
    }
    void on(const model::Fact&) override { ++facts; }
    std::uint64_t samples = 0, inside = 0, facts = 0;
  } got;
  ASSERT_TRUE(replay(path(), {50'000'000'000, 51'000'000'000}, got).ok());
  // then that second came whole, most of the rest did not, the fact did
  EXPECT_EQ(got.inside, 1000u);
  EXPECT_LT(got.samples, 60'000u);
  EXPECT_EQ(got.facts, 1u);
}

TEST_F(Spool, GivesBackManyBlocksOfEverySize) {
  // given blocks from a few bytes to several pages, as short windows leave them
  auto writer = ProcessWriter::create(path()).take();
  std::uint64_t written = 0;
  for (std::uint64_t block = 0; block < 500; ++block) {
    for (std::uint64_t i = 0; i < block % 7 * block; ++i, ++written)
      writer->on(model::Sample{written * 977, 10, static_cast<std::uint32_t>(written * 31), 5, 0});
    writer->on(model::Sample{written++ * 977, 10, 1, 5, 0});
    writer->flush();
  }
  // when read
  struct Count : model::IgnoringSink {
    using model::IgnoringSink::on;
    void on(const model::Sample& e) override { in_order += e.ts_ns == samples++ * 977; }
    std::uint64_t samples = 0, in_order = 0;
  } got;
  const auto end = replay(path(), {}, got);
  // then all came, in order
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().complete);
  EXPECT_EQ(got.samples, written);
  EXPECT_EQ(got.in_order, written);
  std::uint64_t events = 0;
  const auto blocks = block_summaries(path(), {}).take();
  for (const BlockSummary& block : blocks) events += block.events;
  EXPECT_EQ(events, written);
}

TEST_F(Spool, StopsAtTheLastWholeBlockWhereverItIsCut) {
  // given a spool of several blocks, and where each ends
  std::vector<std::uint64_t> ends;
  std::vector<std::size_t> events;
  {
    auto writer = ProcessWriter::create(path()).take();
    ends.push_back(writer->bytes_written());
    events.push_back(0);
    for (int block = 0; block < 4; ++block) {
      model::Step step{};
      step.number = static_cast<std::uint64_t>(block);
      step.start_ns = 1000;
      step.end_ns = 2000;
      writer->on(step);
      writer->flush();
      ends.push_back(writer->bytes_written());
      events.push_back(events.back() + 1);
    }
  }
  const std::string whole = bytes_of(path());
  ASSERT_EQ(whole.size(), ends.back());
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    // when cut at this byte
    write_bytes(path("cut"), whole.substr(0, cut));
    test::Remembering got;
    const auto end = replay(path("cut"), {}, got);
    // then exactly the whole blocks come, and the rest is counted
    ASSERT_TRUE(end.ok()) << cut;
    std::size_t at = 0;
    while (at + 1 < ends.size() && ends[at + 1] <= cut) ++at;
    const std::uint64_t used = cut < ends[0] ? 0 : ends[at];
    EXPECT_EQ(end.value().bytes_left, cut - used) << cut;
    EXPECT_EQ(end.value().complete, cut >= ends[0] && cut == ends[at]) << cut;
    EXPECT_EQ(got.seen.size(), cut < ends[0] ? 0 : events[at]) << cut;
  }
}

TEST_F(Spool, WhatIsBeingWrittenBehindTheWholeBlocksIsNotRead) {
  auto writer = ProcessWriter::create(path()).take();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    writer->on(model::Sample{i, 10, 1, 5, 0});
    writer->flush();
  }
  const ProcessEntry entry{17, path(), ~0ULL, writer->bytes_written()};
  const std::string whole = bytes_of(path());
  write_bytes(path(), whole + whole.substr(whole.size() / 2, 20));  // half a block
  test::Remembering got;
  const auto end = replay(entry, {}, got);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().complete);
  EXPECT_EQ(0u, end.value().bytes_left);
  EXPECT_EQ(3u, got.seen.size());
  EXPECT_EQ(3u, block_summaries(entry, {}).take().size());
}

TEST_F(Spool, SurvivesEveryDamagedByte) {
  // given a small spool with everything in it
  {
    auto writer = ProcessWriter::create(path()).take();
    test::send_every_event(3, *writer);
  }
  const std::string whole = bytes_of(path());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    // when one byte is another
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_bytes(path("bad"), damaged);
    test::Remembering got;
    const auto end = replay(path("bad"), {}, got);
    // then it is refused or cut short, never believed
    EXPECT_FALSE(end.ok() && end.value().complete) << at;
  }
}

TEST_F(Spool, DecoderStaysInsideWhateverItIsGiven) {
  // given bytes that carry a good checksum but no sense
  std::mt19937 random(42);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 64);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random() % (round % 2 ? 256 : 32));
    test::Remembering got;
    EventDecoder decoder;
    // when decoded then nothing is read outside (the sanitizer build looks) and it ends
    decoder.decode(bytes, EventDecoder::Filter::kAll, got);
    EXPECT_LE(got.seen.size(), bytes.size());
  }
}

TEST_F(Spool, RefusesAForeignFileAndAnotherVersion) {
  write_bytes(path("foreign"), std::string(100, 'x'));
  test::Remembering got;
  const auto foreign = replay(path("foreign"), {}, got);
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.error().message.find("is not a gpuprof spool file"), std::string::npos);

  { auto writer = ProcessWriter::create(path()).take(); }
  std::string other = bytes_of(path());
  other[8] = 99;
  write_bytes(path("other"), other);
  const auto version = replay(path("other"), {}, got);
  ASSERT_FALSE(version.ok());
  EXPECT_NE(version.error().message.find("version 99"), std::string::npos);
}

TEST_F(Spool, WillNotOverwriteAnotherSpool) {
  { auto writer = ProcessWriter::create(path()).take(); }
  EXPECT_FALSE(ProcessWriter::create(path()).ok());
}

TEST_F(Spool, FileSizeLimitKeepsWhatWasWritten) {
  // given a limit on file sizes, as a full disk would be
  const std::string file = path();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    auto writer = ProcessWriter::create(file).take();
    std::mt19937_64 random(3);
    for (int i = 0; i < 200'000; ++i)
      writer->on(model::Sample{static_cast<std::uint64_t>(i) + 1, random(), 1,
                               static_cast<std::uint32_t>(random()), 0});
    writer->flush();
    const bool good = !writer->ok() && !writer->failure().empty() && writer->events_lost() > 0 &&
                      writer->events_written() > 0 &&
                      writer->events_written() + writer->events_lost() == 200'000 &&
                      writer->lost_from_ns() == writer->events_written() + 1;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // when what is there is read, then it ends at a block
  test::Remembering got;
  const auto end = replay(file, {}, got);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().complete);
  EXPECT_GT(got.seen.size(), 1000u);
}

TEST_F(Spool, OneThatCouldNotBeBegunIsGoneAgain) {
  const std::string file = path();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    const bool refused = !ProcessWriter::create(file).ok();
    _exit(refused && access(file.c_str(), F_OK) != 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Spool, IsSmallOnARealisticMix) {
  // given kernels, calls, samples as a training step makes them
  auto writer = ProcessWriter::create(path()).take();
  test::send_training(200'000, *writer);
  writer->flush();
  // then the average record is well below the promise of 24 bytes
  const double average =
      static_cast<double>(writer->bytes_written()) / static_cast<double>(writer->events_written());
  EXPECT_LT(average, 24.0);
  RecordProperty("bytes_a_record", std::to_string(average));
}

TEST(Replay, RefusesAPipeInsteadOfWaitingForIt) {
  const std::string path = ::testing::TempDir() + "gpuprof-pipe.spool";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  class Nothing final : public model::IgnoringSink {
  } sink;
  const auto end = replay(path, {}, sink);
  ::unlink(path.c_str());
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.error().message.find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::spool
