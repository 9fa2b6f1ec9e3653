// SPDX-License-Identifier: Apache-2.0
//
// Hands resolved events to two sinks at once, so that one replay serves both.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include "analysis/export/resolve/event_resolver.hpp"

namespace gpuprof::report {

class TeeSink final : public exporter::ResolvedSink {
 public:
  TeeSink(exporter::ResolvedSink& first, exporter::ResolvedSink& second)
      : first_(first), second_(second) {}

  void on(const exporter::ResolvedStep& e) override { both(e); }
  void on(const exporter::ResolvedOperator& e) override { both(e); }
  void on(const exporter::ResolvedRange& e) override { both(e); }
  void on(const exporter::ResolvedApiCall& e) override { both(e); }
  void on(const exporter::ResolvedGpuEvent<model::Kernel>& e) override { both(e); }
  void on(const exporter::ResolvedGpuEvent<model::MemCopy>& e) override { both(e); }
  void on(const exporter::ResolvedGpuEvent<model::MemSet>& e) override { both(e); }
  void on(const exporter::ResolvedGpuEvent<model::GraphExec>& e) override { both(e); }
  void on(const exporter::ResolvedSync& e) override { both(e); }
  void on(const exporter::ResolvedOverhead& e) override { both(e); }
  void on(const exporter::ResolvedSample& e) override { both(e); }
  void on(const model::Allocation& e) override { both(e); }
  void on(const exporter::ModuleCall& e) override { both(e); }

 private:
  template <typename E>
  void both(const E& e) {
    first_.on(e);
    second_.on(e);
  }

  exporter::ResolvedSink& first_;
  exporter::ResolvedSink& second_;
};

}  // namespace gpuprof::report
