// SPDX-License-Identifier: Apache-2.0
//
// A window's file states what its rings dropped, also what they have not told of yet.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <atomic>

#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using wire::RingRole;

class WindowLosses : public DaemonTest {
 protected:
  struct Shared {
    std::atomic<std::uint64_t> dropped;
  };
  WindowLosses() {
    void* memory =
        ::mmap(nullptr, sizeof *shared_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared{};
    options_.step = "nvtx:step";
    options_.schedule.given = true;
  }
  ~WindowLosses() override { ::munmap(shared_, sizeof *shared_); }

  static constexpr int kTimeout = 30'000;  // of a busy machine, in looks

  static std::string unpacked(const std::string& path) {
    std::string text;
    FILE* file = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
    char part[4096];
    while (std::size_t bytes = ::fread(part, 1, sizeof part, file)) text.append(part, bytes);
    ::pclose(file);
    return text;
  }
  static bool push(wire::RingWriter& ring) {
    const std::uint64_t now = base::mono_ns();
    return ring.push(wire::NvtxMark{now, 0, 0, 0, 0, 0, 0}, now);
  }
  /// Until a record finds no room and none follows that could tell of it.
  void overflow(wire::RingWriter& ring) {
    for (int i = 0; i < 16; ++i) {
      while (push(ring)) {
      }
    }
    shared_->dropped = ring.drop_count();
  }
  template <typename F>
  static void step_until(FakeAgent& agent, wire::RingWriter& ring, F reached) {
    for (int i = 0; i < kTimeout && !reached(); ++i) {
      agent.step(ring, wire::StepSource::kNvtx);
      sleep_ms(2);
    }
    if (!reached()) ::_exit(4);
  }
  /// A whole one: its name is taken, and its first bytes are written, before it is known what is
  /// lost.
  bool has_file() const {
    if (!std::filesystem::exists(options_.output)) return false;
    for (const auto& entry : std::filesystem::directory_iterator(options_.output))
      if (entry.path().extension() == ".gz" &&
          ::system(("gzip -tq '" + entry.path().string() + "' 2>&-").c_str()) == 0)
        return true;
    return false;
  }
  /// Of records that found no room in a ring, in the window.
  static std::uint64_t lost_in_file(const std::string& path) {
    const std::string text = unpacked(path);
    const std::string key = "\"ring full\":{\"in this window\":";
    const std::size_t at = text.find(key);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + key.size()));
  }

  Shared* shared_ = nullptr;
};

TEST_F(WindowLosses, OfARingThatIsFullAtTheEndAreInTheFile) {
  options_.schedule.wait = {recording::Extent::Unit::kSteps, 5};
  options_.schedule.active = {recording::Extent::Unit::kSteps, 5};
  options_.schedule.repeat = 1;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto steps = agent.open_ring(1, RingRole::kCallback);
    auto ring = agent.open_ring(2, RingRole::kCallback);
    // The sixth to the tenth are recorded.
    step_until(agent, steps, [&] { return agent.stats().steps.load() >= 8; });
    overflow(ring);
    step_until(agent, steps, [&] { return has_file(); });
    push(ring);  // with it goes word of what was dropped
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.files.size());
  EXPECT_EQ(shared_->dropped.load(), lost_in_file(summary.files[0].path));
  EXPECT_THAT(summary.drops_by_reason,
              testing::Contains(testing::Pair("ring full", shared_->dropped.load())));
}

}  // namespace
}  // namespace gpuprof::session
