// SPDX-License-Identifier: Apache-2.0
//
// Ranges as operators, spans and marks; steps; the substitute for a file without either.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

/// NVTX payload types.
enum : std::uint32_t { kU64 = 1, kI64 = 2, kF64 = 3, kU32 = 4, kI32 = 5, kF32 = 6 };

std::string payload_text(const model::Range& range) {
  std::string text;
  const auto low = static_cast<std::uint32_t>(range.payload);
  switch (range.payload_type) {
    case kU64:
      return std::to_string(range.payload);
    case kI64:
      return std::to_string(static_cast<std::int64_t>(range.payload));
    case kU32:
      return std::to_string(low);
    case kI32:
      return std::to_string(static_cast<std::int32_t>(low));
    case kF64:
      append_number(text, std::bit_cast<double>(range.payload));
      return text;
    case kF32:
      append_number(text, static_cast<double>(std::bit_cast<float>(low)));
      return text;
    default:
      return text;
  }
}

/// A nanosecond before what follows at once, else a few after its last operator.
std::uint64_t drawn_end_ns(const Prescan& prescan, const model::Step& step,
                           const model::Step* next) {
  if (next != nullptr && next->tid == step.tid && next->start_ns <= step.end_ns + kStepPaddingNs)
    return std::max(step.start_ns, next->start_ns - 1);
  if (prescan.abutted_step_ends.contains(step.end_ns))
    return std::max(step.start_ns, step.end_ns - 1);
  return step.end_ns + kStepPaddingNs;
}

}  // namespace

void RangeWriter::write(const model::Range& e) {
  Prescan& prescan = t_.prescan;
  if (!prescan.overlaps({e.start_ns, e.end_ns})) return;
  if (e.kind == model::RangeKind::kMark) return write_mark(e);
  if (e.kind != model::RangeKind::kPushPop) return write_span(e, "nvtx_range");
  if ((e.flags & model::kRangeDeep) != 0) return write_span(e, "nvtx_deep");
  const StepPlacement placed = prescan.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  if ((e.flags & model::kRangeCrossing) != 0 || placed.place == StepRelation::kCrossing)
    return write_span(e, "nvtx_crossing");
  const bool op =
      placed.place == StepRelation::kNonCrossing || prescan.launching_step_ranges.contains(e.name);
  write_nested(e, op ? "cpu_op" : "nvtx_enclosing", placed.interval);
}

void RangeWriter::write_nested(const model::Range& e, std::string_view category,
                               const Interval& drawn) {
  const std::string_view name = t_.prescan.names.text(e.name);
  const std::string_view stack = t_.stacks.joined_frames(e.stack, e.start_ns);
  BufferedWriter& json = t_.event(name.size() + stack.size());
  json.raw("{\"ph\":\"X\",\"cat\":\"").raw(category).raw("\",\"name\":\"");
  json.raw(display_prefix(name)).raw(name);
  t_.write_pid_tid(t_.host_pid, e.tid);
  t_.interval(drawn.start_ns, drawn.end_ns);
  json.raw(",\"args\":{\"External id\":").number(e.id);
  if (!stack.empty()) json.raw(",\"Call stack\":\"").raw(stack).raw("\"");
  details(e);
  json.raw("}}");
}

void RangeWriter::details(const model::Range& e) {
  BufferedWriter& json = t_.json;
  // Also the one without a name: it tells a reader that this is no operator of PyTorch's.
  const auto domain = t_.prescan.domains.find(e.domain);
  const bool named = domain != t_.prescan.domains.end();
  json.text(",\"domain\":")
      .string(named ? std::string_view(domain->second) : std::string_view())
      .reserve(256);
  if (e.category != 0) json.raw(",\"category\":").number(e.category);
  if (e.payload_type != 0) {
    const std::string payload = payload_text(e);
    if (!payload.empty()) json.raw(",\"payload\":").raw(payload);
  }
  if ((e.flags & model::kRangeUnfinished) != 0) json.raw(",\"unfinished\":true");
  if ((e.flags & model::kRangeNoBegin) != 0) json.raw(",\"begin not seen\":true");
  if (t_.prescan.clipped.contains(e.id)) json.raw(",\"cut at window\":true");
}

/// Spans may overlap anything: a pair of asynchronous events, which viewers give rows of
/// their own.
void RangeWriter::write_span(const model::Range& e, std::string_view category) {
  const std::string_view name = t_.prescan.names.text(e.name);
  const std::uint64_t start = std::max(e.start_ns, t_.prescan.window.start_ns);
  const std::uint64_t end = std::min(e.end_ns, t_.prescan.window.end_ns);
  for (const bool begins : {true, false}) {
    BufferedWriter& json = t_.event(name.size());
    json.raw(begins ? "{\"ph\":\"b\",\"cat\":\"" : "{\"ph\":\"e\",\"cat\":\"").raw(category);
    json.raw("\",\"id\":").number(e.id).raw(",\"name\":\"").raw(name);
    t_.write_pid_tid(t_.host_pid, begins ? e.tid : e.end_tid);
    t_.ts(begins ? start : std::max(start, end));
    json.raw(",\"args\":{\"range\":").number(e.id);
    if (begins) details(e);
    json.raw("}}");
  }
  --t_.written;  // two lines, one event
}

void RangeWriter::write_mark(const model::Range& e) {
  const std::string_view name = t_.prescan.names.text(e.name);
  BufferedWriter& json = t_.event(name.size());
  json.raw("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"nvtx_mark\",\"name\":\"").raw(name);
  t_.write_pid_tid(t_.host_pid, e.tid);
  t_.ts(e.start_ns).raw(",\"args\":{\"mark\":").number(e.id);
  details(e);
  json.raw("}}");
}

void write_steps(JsonTraceState& t) {
  const std::vector<model::Step>& steps = t.prescan.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const model::Step& step = steps[i];
    BufferedWriter& json = t.event(64);
    json.raw("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#");
    json.number(step.label);
    t.write_pid_tid(t.host_pid, step.tid);
    const model::Step* const next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
    // Whole numbers add up exactly.
    t.interval(step.start_ns,
               t.spelling.whole_us ? step.end_ns : drawn_end_ns(t.prescan, step, next));
    json.raw(",\"args\":{\"External id\":").number(kStepIdOffset + step.number);
    json.raw(",\"source\":\"").raw(name_of(static_cast<StepOrigin>(step.source)));
    json.raw("\",\"confidence\":").raw(fmt::format("{}", step.confidence / 100.0));
    if (step.where != 0) json.raw(",\"where\":\"").text(t.prescan.names.text(step.where)).raw("\"");
    json.reserve(64);
    json.raw("}}");
  }
}

void write_window_range(JsonTraceState& t) {
  const Prescan& prescan = t.prescan;
  const bool operators = prescan.operator_ids.count() > prescan.step_crossing_ranges.size();
  if (!prescan.steps.empty() || operators) return;
  BufferedWriter& json = t.event(64);
  json.raw("{\"ph\":\"X\",\"cat\":\"python\",\"name\":\"capture");
  t.write_pid_tid(t.host_pid, prescan.main_tid());
  t.interval(prescan.window.start_ns, prescan.window.end_ns);
  json.raw(",\"args\":{\"External id\":").number(kStepIdOffset - 1).raw("}}");
}

}  // namespace gpuprof::exporter
