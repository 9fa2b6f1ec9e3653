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

FlamePart::FlamePart(Trace& trace)
    : t_(trace), slices_(trace.survey.window.end_ns, [this](const SampleSlices::Change& change) {
        slice(change);
      }) {}

void FlamePart::slice(const SampleSlices::Change& change) {
  const std::string_view name = SampleSlices::text_of(change.frame, t_.stacks);
  t_.json.need(512 + name.size());
  JsonText& json = t_.json;
  json.raw(change.begins ? ",\n{\"ph\":\"B\",\"cat\":\"" : ",\n{\"ph\":\"E\",\"cat\":\"");
  json.raw(SampleSlices::category_of(change.frame));
  json.raw("\",\"name\":\"").raw(name);
  t_.row(t_.host_pid, kSampleTidOffset + change.tid);
  t_.ts(change.at_ns).raw("}");
}

void FlamePart::write(const model::Sample& e) {
  if (!t_.survey.inside(e.ts_ns)) return;
  ++t_.written;
  model::StackId& last = last_stack_[e.tid];
  if (e.state != kStateRepeat || e.stack != 0) last = e.stack;
  slices_.add(e, t_.stacks.frames(last, e.ts_ns));
}

void FlamePart::finish() { slices_.finish(); }

}  // namespace gpuprof::exporter
