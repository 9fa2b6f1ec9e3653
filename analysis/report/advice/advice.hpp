// SPDX-License-Identifier: Apache-2.0
//
// What is slow, where in the program, and what to try instead.
//
// Context:  cli
// Owns:     its strings
// Promises: no advice without the figures that led to it; none about a GPU where none was used
// Not here: the rules (rules_*.cpp), how it is printed (advice_text.hpp)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/messages/report_shared.hpp"
#include "analysis/report/process_report.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/step_thread/step_thread.hpp"

namespace gpuprof::report::advice {

/// A place in the program. An empty file: it has none.
struct SourceLocation {
  std::string file, function;
  int line = 0;
  int last_line = 0;  // somewhere from `line` to here; equal: exactly there

  bool known() const { return !file.empty(); }
  /// `train.py:41`, `train.py:41-44`, or "".
  std::string text() const;
};

/// One figure that led to the advice.
struct Figure {
  std::string name;  // ends in the unit: waits_per_step, mean_ns, bytes_per_step
  double value = 0;
};

struct Advice {
  std::string_view rule;   // of rules()
  std::string finding;     // what happens where, and why that is slow
  std::string suggestion;  // what to try
  SourceLocation where;
  double share = 0;  // of `share_base`, 0..1
  /// A kShareOf... of messages::report_shared; kShareOfRecording: there are no steps.
  std::string_view share_base = messages::report_shared::kShareOfStep;
  double ns_per_step = 0;        // mean over all steps that count
  std::string_view line_source;  // who knew the line; empty: the operators' own stacks
  std::vector<Figure> figures;
  std::uint32_t pid = 0;
  std::int64_t rank = -1;
  std::uint32_t processes = 1;  // that it is true of; the figures are of the worst of them
};

/// All that rules look at of one process.
struct RuleInput {
  const ProcessReport& analysis;
  const StepThread& step_thread;
};

struct Rule {
  std::string_view id;     // sync-in-loop
  std::string_view title;  // what it looks for, a few words
  /// One of both. Of one process: adds what it finds.
  void (*check_process)(const RuleInput& subject, std::vector<Advice>* found);
  /// Of all processes of the session.
  void (*check_session)(std::span<const RuleInput> subjects, std::vector<Advice>* found);
};
std::span<const Rule> rules();
const Rule* find_rule(std::string_view id);

/// Asks every rule; the largest share first. What one rule says of the same place in several
/// processes is said once.
std::vector<Advice> run_rules(std::span<const RuleInput> subjects);
std::vector<Advice> run_rules(const Report& report);

}  // namespace gpuprof::report::advice
