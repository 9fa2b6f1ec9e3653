// SPDX-License-Identifier: Apache-2.0
//
// From when to when calls of modules lasted, told by the operators that ran in them.
//
// Context:  daemon (export thread) | cli
// Owns:     the calls that may still go on: no more than operators are open
// Promises: a call reaches over whole operators of one parent and never over a step's border, so
//           that calls, operators and steps always nest
// Not here: how they are written (module_call_pass.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "analysis/export/prescan/module_paths.hpp"
#include "analysis/export/prescan/step_placement.hpp"

namespace gpuprof::exporter {

/// From the first to the last operator that ran in it: an approximation from inside. Ends a few
/// nanoseconds later where there is room: readers add up start and length in floating point, where
/// an equal end can come out earlier.
struct ModuleCall {
  ModulePaths::Path path;
  std::uint32_t tid;
  std::uint64_t start_ns, end_ns;
};

class ModuleCalls {
 public:
  using Callback = std::function<void(const ModuleCall&)>;

  /// @param steps Sorted by start.
  /// @param take  Gets each call, of those that end together the outermost first.
  ModuleCalls(const ModulePaths& paths, const std::vector<model::Step>& steps, Callback take)
      : paths_(paths), steps_(steps), take_(std::move(take)) {}

  /// Operators in the order they ended.
  struct EndedOperator {
    model::RangeId id, parent;
    std::uint32_t tid;
    model::StackId stack;  // 0: none
    Interval interval;
    bool is_nested;        // false: not drawn as an operator
    bool has_module_info;  // in which modules it ran: in none, where there is no stack
  };
  void add(const EndedOperator& op);
  void finish();

 private:
  struct Open {
    ModulePaths::Level level;
    std::uint64_t start_ns, end_ns;
  };
  /// The calls between the operators of one parent.
  struct Scope {
    std::vector<Open> open;  // outermost first
    std::uint64_t written_until_ns = 0;
    std::size_t segment = 0;  // the step, or the gap between steps
  };
  using Scopes = std::unordered_map<model::RangeId, Scope>;  // by parent

  void close(Scope& scope, std::size_t keep, std::uint32_t tid, std::uint64_t limit_ns);
  void leave(Scopes& scopes, const EndedOperator& op, std::span<const ModulePaths::Level> chain);
  std::size_t segment_of(std::uint32_t tid, std::uint64_t ns) const;

  const ModulePaths& paths_;
  const std::vector<model::Step>& steps_;
  Callback take_;
  std::unordered_map<std::uint32_t, Scopes> threads_;
};

}  // namespace gpuprof::exporter
