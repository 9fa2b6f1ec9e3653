// SPDX-License-Identifier: Apache-2.0
//
// Stories and analyses by hand: steps of 10 ms from 1 s on, operators where a test wants them.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/advice/advice.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice::test {

inline constexpr std::uint64_t kUs = 1000, kMs = 1'000'000;

class StepThreadTest : public testing::Test {
 protected:
  /// `count` steps of 10 ms each, one after the other.
  void steps(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      step_thread.steps.push_back({at(i, 0), at(i + 1, 0), 7, i + 1});
    step_thread.loop = "/job/train.py:10";
  }
  /// The first of them is a warm-up.
  void first_stands_apart() {
    step_thread.warm_up.assign(step_thread.steps.begin(), step_thread.steps.begin() + 1);
    step_thread.steps.erase(step_thread.steps.begin());
  }
  static std::uint64_t at(std::size_t step, std::uint64_t us) {
    return 1'000'000'000 + step * 10 * kMs + us * kUs;
  }
  std::uint32_t name(const std::string& text) {
    for (std::uint32_t i = 0; i < step_thread.names.size(); ++i)
      if (step_thread.names[i] == text) return i;
    step_thread.names.push_back(text);
    return static_cast<std::uint32_t>(step_thread.names.size() - 1);
  }
  FrameId frame(const std::string& file, int line, const std::string& function) {
    const std::string text = file + "(" + std::to_string(line) + "): " + function;
    auto& frames = step_thread.places.frames;
    for (FrameId i = 0; i < frames.size(); ++i)
      if (frames[i].text == text) return i;
    frames.push_back({text, function, file, line, true, file.find("torch/") == std::string::npos});
    return static_cast<FrameId>(frames.size() - 1);
  }
  std::uint32_t stack(const std::vector<FrameId>& innermost_first) {
    auto& stacks = step_thread.places.stacks;
    for (std::uint32_t i = 1; i < stacks.size(); ++i)
      if (stacks[i] == innermost_first) return i;
    stacks.push_back(innermost_first);
    return static_cast<std::uint32_t>(stacks.size() - 1);
  }
  /// A line of the program's loop.
  std::uint32_t line(int number) { return stack({frame("/job/train.py", number, "train")}); }
  /// In a package, called from such a line.
  std::uint32_t inside(const std::string& file, const std::string& function, int number) {
    return stack({frame(file, 5, function), frame("/job/train.py", number, "train")});
  }
  StepThreadOp& op(const std::string& text, std::uint64_t start_ns, std::uint64_t us,
                   std::uint32_t on) {
    StepThreadOp made;
    made.start_ns = start_ns;
    made.end_ns = start_ns + us * kUs;
    made.name = name(text);
    made.stack = on;
    step_thread.ops.push_back(made);
    return step_thread.ops.back();
  }
  std::vector<Advice> run_rule(void (*rule)(const RuleInput&, AdviceList*)) {
    AdviceList found;
    rule({analysis, step_thread}, &found);
    return found;
  }

  ProcessReport analysis;
  StepThread step_thread;
};

inline auto Names(std::string_view rule, int line) {
  return testing::AllOf(
      testing::Field("rule", &Advice::rule, rule),
      testing::Field("where", &Advice::where, testing::Field(&SourceLocation::line, line)));
}
inline auto Share(double share) {
  return testing::Field("share", &Advice::share, testing::DoubleNear(share, 1e-3));
}

}  // namespace gpuprof::report::advice::test
