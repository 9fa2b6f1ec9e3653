// SPDX-License-Identifier: Apache-2.0
//
// Hands what is shown to two at once, so that one replay serves both.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include "analysis/export/resolve/event_resolver.hpp"

namespace gpuprof::report {

class Tee final : public exporter::ShownSink {
 public:
  Tee(exporter::ShownSink& first, exporter::ShownSink& second) : first_(first), second_(second) {}

  void on(const exporter::ShownStep& e) override { both(e); }
  void on(const exporter::ShownOp& e) override { both(e); }
  void on(const exporter::ShownRange& e) override { both(e); }
  void on(const exporter::ShownCall& e) override { both(e); }
  void on(const exporter::ShownGpu<model::Kernel>& e) override { both(e); }
  void on(const exporter::ShownGpu<model::MemCopy>& e) override { both(e); }
  void on(const exporter::ShownGpu<model::MemSet>& e) override { both(e); }
  void on(const exporter::ShownGpu<model::GraphExec>& e) override { both(e); }
  void on(const exporter::ShownSync& e) override { both(e); }
  void on(const exporter::ShownOverhead& e) override { both(e); }
  void on(const exporter::ShownSample& e) override { both(e); }
  void on(const model::Allocation& e) override { both(e); }
  void on(const exporter::ModuleCall& e) override { both(e); }

 private:
  template <typename E>
  void both(const E& e) {
    first_.on(e);
    second_.on(e);
  }

  exporter::ShownSink& first_;
  exporter::ShownSink& second_;
};

}  // namespace gpuprof::report
