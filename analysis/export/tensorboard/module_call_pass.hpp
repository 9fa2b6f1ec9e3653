// SPDX-License-Identifier: Apache-2.0
//
// The pass before the events: calls of modules, which must stand before the operators in them.
//
// Context:  daemon (export thread) | cli
// Owns:     what it needs to know whether the viewer can take arrows to the backward pass
// Promises: bounded memory
#pragma once

#include <map>
#include <vector>

#include "analysis/export/resolve/backward_links.hpp"
#include "analysis/export/resolve/backward_reorder.hpp"
#include "analysis/export/resolve/module_calls.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {

class ModuleCallPass final : public model::IgnoringSink {
 public:
  explicit ModuleCallPass(JsonTraceState& trace);

  using model::IgnoringSink::on;
  void on(const model::Operator& op) override;
  void on(const model::Range& range) override;

  void finish();
  /// The installed plugin builds backward modules from arrows and fails on a module without any.
  bool accepts_flows() const { return accepts_flows_; }

 private:
  struct Call {
    std::uint32_t tid;
    std::uint64_t start_ns, end_ns;
  };

  void take(const ModuleCall& call);
  void link(const model::Operator& op);
  void evaluated(const model::Operator& op, std::uint64_t start_ns);
  bool every_call_has_one();

  JsonTraceState& t_;
  ModuleCalls calls_;
  BackwardLinks links_;
  BackwardReorderer order_{links_};
  std::vector<Call> written_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> forward_;  // begins, by thread
  std::map<std::uint32_t, std::pair<std::uint64_t, bool>> first_evaluated_;
  bool accepts_flows_ = true;
};

}  // namespace gpuprof::exporter
