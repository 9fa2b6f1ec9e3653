// SPDX-License-Identifier: Apache-2.0
//
// What the host did: steps, operators, ranges, calls, modules, samples, memory; gpuprof's notes.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/perfetto/perfetto_events.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::exporter {

using perfetto::TrackEvent;

PerfettoEvents::PerfettoEvents(EventResolver& shown, PerfettoPacketWriter& packets,
                               PerfettoTracks& tracks, const PagedBitset& forward_ends,
                               std::uint32_t file_id)
    : shown_(shown),
      prescan_(shown.prescan()),
      packets_(packets),
      tracks_(tracks),
      forward_sources_(forward_ends),
      file_(std::uint64_t{file_id} << 32),
      body_(packets),
      slices_(prescan_.window.end_ns,
              [this](const SampleSlices::SliceEdge& change) { slice(change); }) {}

std::uint64_t PerfettoEvents::launch_flow(std::uint32_t correlation) const {
  return file_ + correlation;
}
std::uint64_t PerfettoEvents::forward_flow(model::RangeId forward) const {
  return ~(file_ + forward);
}

TrackEventBuilder& PerfettoEvents::begin(std::string_view category, std::string_view name) {
  if (packets_.needs_state_clear()) {
    tracks_.flush();  // what waits refers to texts by their numbers
    packets_.clear_incremental_state();
  }
  return body_.begin(category, name);
}

void PerfettoEvents::note(std::string_view name, std::string_view key, std::string_view text) {
  begin("gpuprof", name).text(key, text);
  packets_.event(prescan_.window.start_ns, TrackEvent::TYPE_INSTANT, tracks_.uuid({Row::kNotes}),
                 body_.bytes());
}

void PerfettoEvents::write_notes() {
  const FileRequest& request = shown_.request();
  TrackEventBuilder& body = begin("gpuprof", "trace");
  body.text("version", request.session.options.version).text("host", request.session.host);
  body.text("worker", request.worker).text("why", prescan_.window.why);
  body.number("window", prescan_.window.index);
  for (const auto& [key, value] : prescan_.facts)
    body.text(encode_text(TextEncoding::kUtf8, key, 256),
              encode_text(TextEncoding::kUtf8, value, 4096));
  packets_.event(prescan_.window.start_ns, TrackEvent::TYPE_INSTANT, tracks_.uuid({Row::kNotes}),
                 body.bytes());
  for (const std::string& message : shown_.missing()) note("missing", "sentence", message);
  for (const auto& [reason, loss] : prescan_.losses) {
    begin("gpuprof", "dropped").text("reason", model::loss_name(model::LossReason{reason}));
    body_.number("in this window", loss.in_window).number("since the start", loss.total);
    packets_.event(prescan_.window.start_ns, TrackEvent::TYPE_INSTANT, tracks_.uuid({Row::kNotes}),
                   body_.bytes());
  }
  for (const auto& [key, remark] : request.session.remarks)
    note("remark", "sentence", encode_text(TextEncoding::kUtf8, remark, 4096));
}

void PerfettoEvents::on(const ResolvedStep& s) {
  TrackEventBuilder& body = begin("step", fmt::format("ProfilerStep#{}", s.event.label));
  body.number("step", s.event.label)
      .text("source", name_of(static_cast<StepOrigin>(s.event.source)));
  body.number("confidence %", s.event.confidence);
  if (!s.where.empty()) body.text("where", s.where);
  tracks_.slice({Row::kSteps, s.event.tid}, s.event.start_ns, s.event.end_ns, body.bytes(), false);
}

void PerfettoEvents::stack(model::StackId stack, std::uint64_t ns) {
  if (stack == 0) return;
  const std::string_view line = shown_.stacks().joined_frames(stack, ns);
  if (!line.empty()) body_.text("Call stack", line);
  for (const StackFormatter::Frame frame : shown_.stacks().frames(stack, ns)) {
    const symbols::DisplayFrame& place = shown_.stacks().source_location(frame);
    if (place.file.empty()) continue;
    body_.place(place);
    return;
  }
}

/// `,"Input Dims":…,"Input type":…,"Concrete Inputs":…`, each a text of its own. Neither sizes nor
/// types hold anything that looks like the next key.
void PerfettoEvents::inputs(model::InputsId id) {
  std::string_view rest = id == 0 ? std::string_view() : prescan_.inputs.json_members(id);
  constexpr std::array<std::string_view, 4> kKeys = {
      ",\"Input Dims\":", ",\"Input type\":", ",\"Concrete Inputs\":", ""};
  for (std::size_t i = 0; i + 1 < kKeys.size(); ++i) {
    if (!rest.starts_with(kKeys[i])) continue;
    rest.remove_prefix(kKeys[i].size());
    std::size_t end = rest.size();
    for (std::size_t next = i + 1; next + 1 < kKeys.size(); ++next)
      end = std::min(end, rest.find(kKeys[next]));
    const std::string_view key = kKeys[i].substr(2, kKeys[i].size() - 4);
    body_.text(key, rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

void PerfettoEvents::on(const ResolvedOperator& o) {
  const bool communication = o.kind == OpKind::kKnownCollective;
  TrackEventBuilder& body =
      begin(o.nesting == Nesting::kEnclosing                      ? "enclosing"
            : communication || o.event.scope == model::kScopeUser ? "user_annotation"
                                                                  : "cpu_op",
            o.name);
  body.number("id", o.event.id);
  stack(o.event.stack, o.event.start_ns);
  if (o.event.sequence >= 0) body.signed_number("Sequence number", o.event.sequence);
  if (o.event.forward_tid != 0) body.number("Fwd thread id", o.event.forward_tid);
  if (o.module != 0) body.text("Module", prescan_.modules.name(o.module, prescan_.names));
  inputs(o.event.inputs);
  if ((o.event.flags & model::kRangeUnfinished) != 0) body.number("unfinished", 1);
  if (o.link != nullptr) body.flow(forward_flow(o.link->forward_id));
  if (forward_sources_.test(o.event.id)) body.flow(forward_flow(o.event.id));
  const Row row = o.nesting == Nesting::kOverlapping ? Row::kNonNesting : Row::kThread;
  tracks_.slice({row, o.event.tid}, o.interval.start_ns, o.interval.end_ns, body.bytes(),
                o.parent == 0);
}

void PerfettoEvents::range_details(const model::Range& e) {
  body_.number("id", e.id);
  if (e.category != 0) body_.number("category", e.category);
  if (e.payload_type != 0) body_.number("payload", e.payload);
  if ((e.flags & model::kRangeUnfinished) != 0) body_.number("unfinished", 1);
  if ((e.flags & model::kRangeNoBegin) != 0) body_.number("begin not seen", 1);
}

void PerfettoEvents::on(const ResolvedRange& r) {
  const bool mark = r.event.kind == model::RangeKind::kMark;
  const bool span = r.event.kind == model::RangeKind::kStartEnd;
  TrackEventBuilder& body = begin(mark ? "nvtx_mark" : span ? "nvtx_span" : "nvtx", r.name);
  range_details(r.event);
  if (!r.domain.empty()) body.text("domain", encode_text(TextEncoding::kUtf8, r.domain, 1024));
  if (mark) {
    packets_.event(r.event.start_ns, TrackEvent::TYPE_INSTANT,
                   tracks_.uuid({Row::kThread, r.event.tid}), body.bytes());
    return;
  }
  stack(r.event.stack, r.event.start_ns);
  const Row row = r.nesting == Nesting::kOverlapping ? Row::kNonNesting : Row::kThread;
  tracks_.slice({row, r.event.tid}, r.interval.start_ns, r.interval.end_ns, body.bytes(),
                r.parent == 0);
}

void PerfettoEvents::on(const ResolvedApiCall& c) {
  TrackEventBuilder& body = begin(c.nested           ? "inner_call"
                                  : c.event.api == 1 ? "cuda_driver"
                                                     : "cuda_runtime",
                                  c.name);
  body.number("correlation", c.event.correlation);
  if (c.owner != 0) body.number("operator", c.owner);
  if (c.event.result != 0) body.signed_number("result", c.event.result);
  if (c.owner == 0) stack(c.event.stack, c.event.start_ns);
  if (!c.nested && c.has_gpu_work) body.flow(launch_flow(c.event.correlation));
  tracks_.slice({Row::kThread, c.event.tid}, c.event.start_ns, c.event.end_ns, body.bytes(),
                c.event.range == 0);
}

void PerfettoEvents::on(const ResolvedOverhead& o) {
  TrackEventBuilder& body = begin("overhead", o.name);
  tracks_.slice({Row::kOverhead, o.event.tid}, o.event.start_ns, o.event.end_ns, body.bytes(),
                true);
}

void PerfettoEvents::on(const ModuleCall& c) {
  TrackEventBuilder& body = begin("module", prescan_.modules.name(c.path, prescan_.names));
  tracks_.slice({Row::kModules, c.tid}, c.start_ns, c.end_ns, body.bytes(),
                prescan_.modules.parent(c.path) == 0);
}

void PerfettoEvents::on(const model::Allocation& a) {
  const std::uint32_t owner =
      a.device_type == 0 ? model::kNoObject : static_cast<std::uint32_t>(a.device);
  packets_.counter(a.start_ns, tracks_.uuid({Row::kAllocated, owner}),
                   static_cast<std::int64_t>(a.total_allocated_bytes));
  packets_.counter(a.start_ns, tracks_.uuid({Row::kReserved, owner}),
                   static_cast<std::int64_t>(a.total_reserved_bytes));
}

void PerfettoEvents::slice(const SampleSlices::SliceEdge& change) {
  const std::uint64_t track = tracks_.uuid({Row::kSamples, change.tid});
  if (!change.begins) {
    packets_.event(change.at_ns, TrackEvent::TYPE_SLICE_END, track, {});
    return;
  }
  begin(SampleSlices::category_of(change.frame),
        SampleSlices::text_of(change.frame, shown_.stacks()));
  packets_.event(change.at_ns, TrackEvent::TYPE_SLICE_BEGIN, track, body_.bytes());
}

void PerfettoEvents::finish() {
  slices_.finish();
  for (auto& [device, work] : in_flight_) work.finish(counter_callback(device));
  tracks_.flush();
}

}  // namespace gpuprof::exporter
