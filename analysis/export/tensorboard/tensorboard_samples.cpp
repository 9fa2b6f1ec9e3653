// SPDX-License-Identifier: Apache-2.0
//
// Sampled stacks as slices on a row of their own.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::uint32_t kStateRepeat = 2;

}  // namespace

SampleWriter::SampleWriter(JsonTraceState& trace)
    : t_(trace),
      slices_(trace.prescan.window.end_ns,
              [this](const SampleSlices::SliceEdge& change) { slice(change); }) {}

void SampleWriter::slice(const SampleSlices::SliceEdge& change) {
  const std::string_view name = SampleSlices::text_of(change.frame, t_.stacks);
  t_.json.reserve(512 + name.size());
  BufferedWriter& json = t_.json;
  json.raw(change.begins ? ",\n{\"ph\":\"B\",\"cat\":\"" : ",\n{\"ph\":\"E\",\"cat\":\"");
  json.raw(SampleSlices::category_of(change.frame));
  json.raw("\",\"name\":\"").raw(name);
  t_.write_pid_tid(t_.host_pid, kSampleTidOffset + change.tid);
  t_.ts(change.at_ns).raw("}");
}

void SampleWriter::write(const model::Sample& e) {
  if (!t_.prescan.starts_in_window(e.ts_ns)) return;
  ++t_.written;
  model::StackId& last = last_stack_[e.tid];
  if (e.state != kStateRepeat || e.stack != 0) last = e.stack;
  slices_.add(e, t_.stacks.frames(last, e.ts_ns));
}

void SampleWriter::finish() { slices_.finish(); }

}  // namespace gpuprof::exporter
