// SPDX-License-Identifier: Apache-2.0
//
// A PyTorch program made of records: loops, operators, optimizers, at times of the test's own.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {

inline constexpr std::uint64_t kUs = 1'000, kMs = 1'000'000, kSecond = 1'000'000'000;

/// Line tables of these tests: the line is the offset's.
inline int line_is_offset(std::string_view, std::uint16_t, std::int32_t first_line,
                          std::int32_t offset) {
  return first_line + offset;
}

inline std::vector<std::uint64_t> begins_of(const std::vector<model::Step>& steps) {
  std::vector<std::uint64_t> begins;
  for (const model::Step& step : steps) begins.push_back(step.start_ns);
  return begins;
}

class StepFinderTest : public AssemblerTest {
 protected:
  StepFinderTest() { look(wire::StepSource::kAuto); }

  void look(wire::StepSource source, const std::string& file = {}, std::uint32_t line = 0) {
    make({});
    assembler_->set_step_search(StepSearch{source, file, line, line_is_offset});
    t_ = 100 * kSecond;
    drained_ = now_ = t_;
  }

  /// Loops are named by small numbers; `target` is the offset of its head, i.e. its line.
  void loop(std::uint64_t id, std::int32_t target, std::int32_t jump, std::uint32_t flags = 0) {
    code(7, "train.py", "main");
    put(wire::LoopDef{id, 7, target, jump, flags, 0});
  }
  void code(std::uint64_t id, const std::string& file, const std::string& name) {
    const wire::PyCodeDef def{id,
                              0,
                              11,
                              0,
                              static_cast<std::uint32_t>(file.size()),
                              static_cast<std::uint32_t>(name.size()),
                              0,
                              0};
    put(def, file + name);
  }
  /// A stack inside these loops, innermost first.
  void stack(std::uint64_t id, const std::vector<std::uint64_t>& loops) {
    put(wire::StackLoops{id, static_cast<std::uint32_t>(loops.size()), 0},
        std::string(reinterpret_cast<const char*>(loops.data()), loops.size() * 8));
  }
  /// An iteration of the loop begins. Once the target has been told, it counts itself.
  void iterate(std::uint64_t loop, std::uint32_t flags = 0, const RingInfo& ring = {0, 100, 1}) {
    const bool weak = (flags & wire::kMarkInferred) != 0 && (flags & wire::kMarkLoopEntry) == 0;
    const auto [rule, key] = rule_seen_;
    if (rule == wire::StepRule::kNone)
      put(wire::LoopMark{t_, loop, flags, 0}, {}, ring);
    else if (key == loop && (rule == wire::StepRule::kLoopInferred || !weak) &&
             (heard_.rule_tid == ring.tid || ended_.contains(heard_.rule_tid)))
      put(wire::StepMark{t_, counted_++, static_cast<std::uint32_t>(wire::StepSource::kLoop),
                         wire::kStepBegin |
                             ((flags & wire::kMarkLoopEntry) != 0 ? wire::kStepLoopEntry : 0),
                         0},
          {}, ring);
  }
  void op(const std::string& text, std::uint64_t stack, std::uint64_t took_ns,
          std::uint16_t flags = wire::kOpTopLevel, const RingInfo& ring = {0, 100, 1}) {
    if (recording_) {
      const std::uint16_t scope = text.rfind("aten::", 0) == 0 ? 0 : 7;
      const std::uint64_t id = name(text);
      ++object_;
      put(wire::OpBegin{t_, id, stack, 0, sequence_, object_, ++op_, 0, 0, scope, flags}, {}, ring);
      t_ += took_ns;
      put(wire::OpEnd{t_, object_, op_, 0}, {}, ring);
    } else {
      t_ += took_ns;
    }
    pass(1 * kUs);
  }
  /// Rounds every five milliseconds; the target looks at the rule a round later.
  void pass(std::uint64_t ns) {
    t_ += ns;
    while (drained_ + 5 * kMs <= t_) {
      drained_ += 5 * kMs;
      if (!heard_.rules.empty()) rule_seen_ = heard_.rules.back();
      assembler_->begin_round(drained_);
      assembler_->end_round(drained_);
    }
  }
  void finish() {
    assembler_->begin_round(t_);
    assembler_->finish(t_);
  }

  /// One training step of 1 ms inside `loops`, whose stack is `stack`.
  void train(std::uint64_t stack, const char* optimizer = "Optimizer.step#SGD.step") {
    truth_.push_back(t_);
    op("aten::linear", stack, 300 * kUs);
    op("aten::relu", stack, 300 * kUs);
    if (optimizer != nullptr) op(optimizer, stack, 300 * kUs);
  }

  std::uint64_t t_ = 0, drained_ = 0, object_ = 0, counted_ = 0;
  std::uint32_t op_ = 0;
  std::int64_t sequence_ = -1;  // of the next operators: autograd does not follow them
  bool recording_ = true;
  std::pair<wire::StepRule, std::uint64_t> rule_seen_{wire::StepRule::kNone, 0};
  std::set<std::uint32_t> ended_;     // threads
  std::vector<std::uint64_t> truth_;  // begins of the steps
};

}  // namespace gpuprof::ingest
