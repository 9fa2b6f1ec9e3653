// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's operators, autograd nodes and the program's own ranges; the allocator's records.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/recorded_kind.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

/// Above every address of a process, and still exact in a browser's numbers.
constexpr unsigned kDeviceShift = 48;
constexpr std::uint64_t kDeviceSpaces = 31;

}  // namespace

std::string_view OperatorWriter::category_of(const model::Operator& e, OpKind kind) const {
  if (kind == OpKind::kKnownCollective) return "user_annotation";
  return e.scope == model::kScopeUser ? t_.spelling.user_range : "cpu_op";
}

/// The plugin knows five collectives, each by the name of a library in front.
OperatorWriter::DisplayName OperatorWriter::resolved_name(std::string_view name,
                                                          OpKind kind) const {
  if (kind != OpKind::kKnownCollective || t_.spelling.kernels_link_to_record)
    return {display_prefix(name), name};
  const std::size_t colon = name.find(':');
  if (plugin_collective_name(name.substr(colon + 1)).empty()) return {display_prefix(name), name};
  if (colon == std::string_view::npos) return {"nccl:", plugin_collective_name(name)};
  return {name.substr(0, colon + 1), plugin_collective_name(name.substr(colon + 1))};
}

void OperatorWriter::write(const model::Operator& e) {
  const Prescan& prescan = t_.prescan;
  if (!prescan.overlaps({e.start_ns, e.end_ns})) return;
  const OpKind kind = classify_recorded_operator(e, prescan.names.text(e.name));
  if (kind == OpKind::kProfilerStep) return;
  order_.add(e, kind, [this](const model::Operator& op) { write_now(op); });
}

void OperatorWriter::finish() {
  order_.finish([this](const model::Operator& op) { write_now(op); });
}

void OperatorWriter::write_now(const model::Operator& e) {
  const Prescan& prescan = t_.prescan;
  OpKind kind = classify_recorded_operator(e, prescan.names.text(e.name));
  if (kind == OpKind::kUnprefixedCollective)
    kind = prescan.collectives.record_of(e.id) != 0 ? OpKind::kKnownCollective : OpKind::kPlain;
  const StepPlacement placed = prescan.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  if (prescan.is_non_nesting(e) || placed.place == StepRelation::kCrossing) return write_span(e);
  const bool op =
      placed.place == StepRelation::kNonCrossing || prescan.launching_step_ranges.contains(e.name);
  write_nested(e, kind, op ? category_of(e, kind) : "torch_enclosing", placed.interval);
}

void OperatorWriter::write_nested(const model::Operator& e, OpKind kind, std::string_view category,
                                  const Interval& drawn) {
  Prescan& prescan = t_.prescan;
  const bool outermost = prescan.operator_of(e.parent) == 0;
  const BackwardLinks::Match found = links_.add(e, kind, drawn.start_ns, outermost);
  const std::string_view name = prescan.names.text(e.name);
  const std::string_view stack = t_.stacks.joined_frames(e.stack, e.start_ns);
  BufferedWriter& json = t_.event(name.size() + stack.size());
  json.raw("{\"ph\":\"X\",\"cat\":\"").raw(category).raw("\",\"name\":\"");
  const DisplayName shown = resolved_name(name, kind);
  json.raw(shown.library).raw(shown.name);
  t_.write_pid_tid(t_.host_pid, e.tid);
  t_.interval(drawn.start_ns, drawn.end_ns);
  json.raw(",\"args\":{\"External id\":").number(e.id);
  if (!stack.empty()) json.raw(",\"Call stack\":\"").raw(stack).raw("\"");
  if (e.sequence >= 0) json.raw(",\"Sequence number\":").signed_number(e.sequence);
  if (e.forward_tid != 0) json.raw(",\"Fwd thread id\":").number(e.forward_tid);
  if (found.module != 0)
    json.text(",\"Module\":\"").text(prescan.modules.name(found.module, prescan.names)).text("\"");
  if (!name.ends_with(shown.name)) json.text(",\"PyTorch name\":\"").text(name).text("\"");
  write_inputs(e, kind);
  json.reserve(128);
  if ((e.flags & model::kRangeUnfinished) != 0) json.raw(",\"unfinished\":true");
  if (prescan.clipped.contains(e.id)) json.raw(",\"cut at window\":true");
  json.raw("}}");
  if (!found.link) return;
  write_flow("fwdbwd", *found.link);
  if (t_.spelling.both_flow_formats && t_.supports_flows)
    write_flow("forward_backward", *found.link);
}

void OperatorWriter::write_inputs(const model::Operator& e, OpKind kind) {
  InputsFormatter& inputs = t_.prescan.inputs;
  const Collectives& collectives = t_.prescan.collectives;
  if (kind == OpKind::kKnownCollective) {
    const std::string own = inputs.flat_json_members(e.inputs);
    t_.json.text(own.empty() ? inputs.flat_json_members(collectives.inputs_of(e.id)) : own);
    return;
  }
  t_.json.text(inputs.json_members(e.inputs));
  if (kind != OpKind::kCollectiveRecord) return;
  const model::StringId range = collectives.name_of(e.id);
  t_.json.text(collective_args(inputs.words(e.inputs),
                               range == 0 ? std::string_view{} : t_.prescan.names.text(range)));
}

void OperatorWriter::write_flow(std::string_view name, const BackwardLink& link) {
  ++flows_;
  for (const bool begins : {true, false}) {
    BufferedWriter& json = t_.json;
    json.reserve(256);
    json.raw(begins ? ",\n{\"ph\":\"s\"" : ",\n{\"ph\":\"f\",\"bp\":\"e\"")
        .raw(",\"cat\":\"")
        .raw(name);
    json.raw("\",\"name\":\"").raw(name).raw("\",\"id\":").number(flows_);
    json.raw(",\"pid\":").number(t_.host_pid).raw(",\"tid\":");
    json.number(begins ? link.forward_tid : link.backward_tid);
    t_.ts(begins ? link.forward_ns : link.backward_ns).raw("}");
  }
}

void OperatorWriter::write_span(const model::Operator& e) {
  const bool deep = (e.flags & model::kRangeDeep) != 0;
  const std::string_view category = deep ? "torch_deep" : "torch_crossing";
  const std::string_view name = t_.prescan.names.text(e.name);
  const std::uint64_t start = std::max(e.start_ns, t_.prescan.window.start_ns);
  const std::uint64_t end = std::max(start, std::min(e.end_ns, t_.prescan.window.end_ns));
  for (const bool begins : {true, false}) {
    BufferedWriter& json = t_.event(name.size());
    json.raw(begins ? "{\"ph\":\"b\"" : "{\"ph\":\"e\"").raw(",\"cat\":\"").raw(category);
    json.raw("\",\"id\":");
    json.number(e.id).raw(",\"name\":\"").raw(name);
    t_.write_pid_tid(t_.host_pid, begins ? e.tid : e.end_tid);
    t_.ts(begins ? start : end);
    json.raw(",\"args\":{\"operator\":").number(e.id);
    if (!begins && (e.flags & model::kRangeUnfinished) != 0) json.raw(",\"unfinished\":true");
    if (!begins && (start != e.start_ns || end != e.end_ns)) json.raw(",\"cut at window\":true");
    json.raw("}}");
  }
  --t_.written;  // two lines, one event
}

// The viewer pairs records by address alone: those of devices move to ranges of their own.
void OperatorWriter::write(const model::Allocation& e) {
  if (!t_.prescan.starts_in_window(e.start_ns) || !is_supported_memory(e)) return;
  const bool host = e.device_type == 0;
  const std::uint64_t space = host ? 0 : static_cast<std::uint64_t>(e.device) % kDeviceSpaces + 1;
  BufferedWriter& json = t_.event(64);
  json.raw("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]");
  t_.write_pid_tid(t_.host_pid, e.tid);
  t_.ts(e.start_ns).raw(",\"args\":{\"Device Type\":");
  json.signed_number(e.device_type).raw(",\"Device Id\":");
  json.signed_number(host ? -1 : e.device).raw(",\"Addr\":");
  json.number(e.address + (space << kDeviceShift)).raw(",\"Bytes\":").signed_number(e.bytes);
  json.raw(",\"Total Allocated\":").number(e.total_allocated_bytes);
  json.raw(",\"Total Reserved\":").number(e.total_reserved_bytes).raw("}}");
}

}  // namespace gpuprof::exporter
