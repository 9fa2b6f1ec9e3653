// SPDX-License-Identifier: Apache-2.0
//
// What travels between CLI and daemon as text: options one way, the summary the other.
#include <gmock/gmock.h>

#include <sstream>

#include "recording/session/session_options.hpp"
#include "recording/session/summary.hpp"

namespace gpuprof::recording {
namespace {

using testing::HasSubstr;

SessionOptions everything_changed() {
  SessionOptions o;
  o.output = "/tmp/a b\\c\nd=e";
  o.output_is_pattern = o.force = o.all_processes = o.trace_given = o.armed = o.running_processes =
      true;
  o.formats = {"tensorboard", "perfetto"};
  o.span_size_events = 1;
  o.max_size_bytes = 2;
  o.keep = "last:3";
  o.trace = 5;
  o.rate_hz = 250;
  o.sampler = "perf";
  o.blocked_threads = false;
  o.record_shapes = o.with_stack = o.with_modules = o.profile_memory = false;
  o.cuda_graph = "graph";
  o.buffer_size_bytes = 4096;
  o.schedule = {{Extent::Unit::kSteps, 1},
                {Extent::Unit::kSteps, 2},
                {Extent::Unit::kSteps, 3},
                {Extent::Unit::kSteps, 4},
                5,
                true};
  o.step = "kernel:a=b|c\\d";
  o.on_no_step = "none";
  o.step_timeout_ns = 7;
  o.name = "n";
  o.wait_for = "all";
  o.command_line = "python 'x\ty'\n";
  o.working_directory = "/w";
  o.version = "v";
  o.max_overhead = "3";
  return o;
}

TEST(SessionOptions, EveryFieldSurvivesTheJourney) {
  const SessionOptions options = everything_changed();
  const std::string text = to_text(options);
  const auto back = from_text(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(text, to_text(back.value()));
  EXPECT_EQ(options.output, back.value().output);
  EXPECT_EQ(options.formats, back.value().formats);
  EXPECT_EQ(Extent::Unit::kSteps, back.value().schedule.active.unit);
  EXPECT_EQ(4u, back.value().schedule.active.value);
  EXPECT_EQ(options.command_line, back.value().command_line);
}

TEST(SessionOptions, EveryLineDiffersFromTheDefaultOnceChanged) {
  const std::string changed = to_text(everything_changed()), initial = to_text(SessionOptions{});
  std::istringstream a(changed), b(initial);
  std::string left, right;
  while (std::getline(a, left) && std::getline(b, right)) EXPECT_NE(left, right);
}

TEST(SessionOptions, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> bad[] = {
      {"colour=red\n", "colour is unknown"},
      {"rate_hz=fast\n", "rate_hz cannot be"},
      {"rate_hz=20001\n", "rate_hz"},
      {"rate_hz=-1\n", "rate_hz"},
      {"force=yes\n", "force"},
      {"active=3\n", "active"},
      {"active=weeks:3\n", "active"},
      {"active=steps:3\nwait=ns:5\n", "mixes steps and time"},
      {"keep=first:0\n", "keep"},
      {"keep=some\n", "keep"},
      {"sampler=gdb\n", "sampler"},
      {"formats=\n", "formats"},
      {"wait_for=godot\n", "wait_for"},
      {"output=a\\\n", "escape sequence"},
      {"noequals\n", "without '='"},
  };
  for (const auto& [text, expected] : bad) {
    const auto result = from_text(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_THAT(result.error().message, HasSubstr(expected));
  }
}

TEST(Summary, SurvivesJson) {
  Summary s;
  s.version = "1", s.host = "h", s.output = "/o \"quoted\"", s.complete = false;
  s.spool_folder = "/s", s.duration_ns = 1ULL << 60;
  s.files = {{"/f", "tensorboard", 1, 2, 3, 4, 5}};
  s.windows = {{1, 2, 3, 4, 5, "schedule"}};
  s.events_by_kind = {{"kernels", 10}, {"samples", 20}};
  s.drops_by_reason = {{"ring full", 1}};
  s.ring_drops_by_kind = {{"kernels", 1}};
  s.processes = {{1, 2, "/exe", "exe -x", "traced", 3, 4, 5, 6, 7, 8, 9, 10, 11, "exited"}};
  s.processes_seen = 3, s.processes_traced = 1, s.peers_refused = 2;
  s.overhead = {1, 2, 3, 4, "perf", 99.5, 6, 7, "3 %", 8, 3.25, 1.5};
  s.left_out = {{7, 8, 9, 3.25, "stacks"}};
  s.missing = {"no GPU"}, s.remarks = {"r"}, s.failures = {"f"}, s.open_with = {"tensorboard"};
  const auto back = from_json(to_json(s));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(s), to_json(back.value()));
  EXPECT_EQ(20u, back.value().events_by_kind[1].second);
  EXPECT_EQ(99.5, back.value().overhead.effective_rate_hz);
  EXPECT_EQ("exited", back.value().processes[0].end);
}

TEST(Summary, RefusesNonsenseAndIgnoresTheUnknown) {
  EXPECT_FALSE(from_json("").ok());
  EXPECT_FALSE(from_json("[1]").ok());
  EXPECT_FALSE(from_json(R"({"files": 3})").ok());
  EXPECT_FALSE(from_json(R"({"duration_ns": "long"})").ok());
  const auto later = from_json(R"({"host": "h", "of_a_later_version": {"a": [1]}})");
  ASSERT_TRUE(later.ok());
  EXPECT_EQ("h", later.value().host);
}

}  // namespace
}  // namespace gpuprof::recording
