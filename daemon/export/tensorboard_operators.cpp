// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's operators, autograd nodes and the program's own ranges; the allocator's records.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/operator_names.hpp"
#include "daemon/export/tensorboard_parts.hpp"

namespace gpuprof::exporter {
namespace {

/// Above every address of a process, and still exact in a browser's numbers.
constexpr unsigned kDeviceShift = 48;
constexpr std::uint64_t kDeviceSpaces = 31;

}  // namespace

void OperatorPart::write(const model::Operator& e) {
  const Survey& survey = t_.survey;
  if (!survey.overlaps({e.start_ns, e.end_ns})) return;
  const OpKind kind = kind_of(survey.names.text(e.name));
  if (kind == OpKind::kStep) return;
  const Placed placed = survey.placed(e.id, e.tid, {e.start_ns, e.end_ns});
  if ((e.flags & model::kRangeCrossing) != 0 || placed.place == Place::kCrossing)
    return write_span(e);
  const bool op = placed.place == Place::kFree || survey.step_operators.contains(e.name);
  write_nested(e,
               !op                              ? "torch_enclosing"
               : kind == OpKind::kCommunication ? "user_annotation"
                                                : "cpu_op",
               placed.drawn);
}

void OperatorPart::write_nested(const model::Operator& e, std::string_view category,
                                const Interval& drawn) {
  const std::string_view name = t_.survey.names.text(e.name);
  const std::string_view stack = t_.stacks.line(e.stack, e.start_ns);
  JsonText& json = t_.event(name.size() + stack.size());
  json.raw("{\"ph\":\"X\",\"cat\":\"").raw(category).raw("\",\"name\":\"").raw(name);
  t_.row(t_.host_pid, e.tid);
  t_.interval(drawn.start_ns, drawn.end_ns);
  json.raw(",\"args\":{\"External id\":").number(e.id);
  if (!stack.empty()) json.raw(",\"Call stack\":\"").raw(stack).raw("\"");
  if (e.sequence >= 0) json.raw(",\"Sequence number\":").signed_number(e.sequence);
  if (e.forward_tid != 0) json.raw(",\"Fwd thread id\":").number(e.forward_tid);
  json.text(t_.survey.inputs.members(e.inputs)).need(128);
  if ((e.flags & model::kRangeUnfinished) != 0) json.raw(",\"unfinished\":true");
  if (t_.survey.clipped.contains(e.id)) json.raw(",\"cut at window\":true");
  json.raw("}}");
}

void OperatorPart::write_span(const model::Operator& e) {
  const std::string_view name = t_.survey.names.text(e.name);
  const std::uint64_t start = std::max(e.start_ns, t_.survey.window.start_ns);
  const std::uint64_t end = std::max(start, std::min(e.end_ns, t_.survey.window.end_ns));
  for (const bool begins : {true, false}) {
    JsonText& json = t_.event(name.size());
    json.raw(begins ? "{\"ph\":\"b\"" : "{\"ph\":\"e\"").raw(",\"cat\":\"torch_crossing\",\"id\":");
    json.number(e.id).raw(",\"name\":\"").raw(name);
    t_.row(t_.host_pid, begins ? e.tid : e.end_tid);
    json.raw(",\"ts\":").us(t_.since_base(begins ? start : end));
    json.raw(",\"args\":{\"operator\":").number(e.id).raw("}}");
  }
  --t_.written;  // two lines, one event
}

// The viewer pairs records by address alone: those of devices move to ranges of their own.
void OperatorPart::write(const model::Allocation& e) {
  if (!t_.survey.inside(e.start_ns) || !is_known_memory(e)) return;
  const bool host = e.device_type == 0;
  const std::uint64_t space = host ? 0 : static_cast<std::uint64_t>(e.device) % kDeviceSpaces + 1;
  JsonText& json = t_.event(64);
  json.raw("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]");
  t_.row(t_.host_pid, e.tid);
  json.raw(",\"ts\":").us(t_.since_base(e.start_ns)).raw(",\"args\":{\"Device Type\":");
  json.signed_number(e.device_type).raw(",\"Device Id\":");
  json.signed_number(host ? -1 : e.device).raw(",\"Addr\":");
  json.number(e.address + (space << kDeviceShift)).raw(",\"Bytes\":").signed_number(e.bytes);
  json.raw(",\"Total Allocated\":").number(e.total_allocated_bytes);
  json.raw(",\"Total Reserved\":").number(e.total_reserved_bytes).raw("}}");
}

}  // namespace gpuprof::exporter
