// SPDX-License-Identifier: Apache-2.0
//
// Lines as RFC 4180 has them: CRLF, texts in quotes where they need them.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tables/csv_writer.hpp"

#include <fmt/format.h>

#include <iterator>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/prescan/step_index.hpp"
#include "analysis/export/resolve/event_resolver.hpp"
#include "support/text/csv.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kHeader =
    "kind,name,start_ns,duration_ns,pid,tid,device,stream,correlation,id,parent,step,bytes,stack,"
    "details\r\n";

/// Columns of one line; what is not set stays empty.
struct CsvRow {
  std::string_view kind, name;
  std::uint64_t start_ns, end_ns;
  std::optional<std::uint64_t> tid, device, stream, correlation, id, parent;
  std::optional<std::int64_t> bytes;
  std::string_view stack;
};

class CsvRowSink final : public ResolvedSink {
 public:
  CsvRowSink(EventResolver& shown, BufferedWriter& out)
      : shown_(shown), prescan_(shown.prescan()), out_(out) {}

  void head() {
    out_.text(kHeader);
    const model::Window& window = prescan_.window;
    detail("unix_ns", window.stamp_real_ns);
    detail("why", window.why);
    write({"window",
           shown_.request().worker,
           window.start_ns,
           window.end_ns,
           {},
           {},
           {},
           {},
           {},
           {},
           {},
           {}});
    for (const std::string& message : shown_.missing())
      write({"missing", message, window.start_ns, window.start_ns, {}, {}, {}, {}, {}, {}, {}, {}});
  }

  using ResolvedSink::on;
  void on(const ResolvedStep& s) override {
    detail("source", name_of(static_cast<StepOrigin>(s.event.source)));
    if (!s.where.empty()) detail("where", s.where);
    write({"step",
           fmt::format("ProfilerStep#{}", s.event.label),
           s.event.start_ns,
           s.event.end_ns,
           s.event.tid,
           {},
           {},
           {},
           {},
           {},
           {},
           {}});
  }
  void on(const ResolvedOperator& o) override;
  void on(const ResolvedRange& r) override;
  void on(const ResolvedApiCall& c) override;
  void on(const ResolvedGpuEvent<model::Kernel>& s) override;
  void on(const ResolvedGpuEvent<model::MemCopy>& s) override {
    gpu("memcpy", s, static_cast<std::int64_t>(s.event.bytes));
  }
  void on(const ResolvedGpuEvent<model::MemSet>& s) override {
    gpu("memset", s, static_cast<std::int64_t>(s.event.bytes));
  }
  void on(const ResolvedGpuEvent<model::GraphExec>& s) override { gpu("graph", s, {}); }
  void on(const ResolvedSync& s) override;
  void on(const ResolvedOverhead& o) override {
    write({"overhead",
           o.name,
           o.event.start_ns,
           o.event.end_ns,
           o.event.tid,
           {},
           {},
           {},
           {},
           {},
           {},
           {}});
  }
  void on(const ResolvedSample& s) override;
  void on(const model::Allocation& a) override;
  void on(const ModuleCall& c) override {
    write({"module",
           prescan_.modules.name(c.path, prescan_.names),
           c.start_ns,
           c.end_ns,
           c.tid,
           {},
           {},
           {},
           {},
           {},
           {},
           {}});
  }

 private:
  using Id = std::optional<std::uint64_t>;

  static Id known(std::uint64_t id) { return id == 0 ? Id() : Id(id); }
  static Id object(std::uint32_t id) { return id == model::kNoObject ? Id() : Id(id); }
  template <typename V>
  void detail(std::string_view key, const V& value) {
    fmt::format_to(std::back_inserter(details_), "{}{}={}", details_.empty() ? "" : " ", key,
                   value);
  }
  template <typename E>
  void gpu(std::string_view kind, const ResolvedGpuEvent<E>& s, std::optional<std::int64_t> bytes) {
    if (s.event.graph != 0) detail("graph", s.event.graph);
    write({kind,
           s.name,
           s.event.start_ns,
           s.event.end_ns,
           known(s.event.launch_tid),
           s.device,
           s.event.stream,
           s.event.correlation,
           {},
           known(s.owner),
           bytes,
           {}});
  }
  void write(const CsvRow& line);

  EventResolver& shown_;
  Prescan& prescan_;
  BufferedWriter& out_;
  std::string details_;  // of the line that comes next
  std::string cell_;
};

void CsvRowSink::write(const CsvRow& line) {
  const auto number = [this](const auto& value) {
    out_.raw(",");
    if (value) out_.signed_number(static_cast<std::int64_t>(*value));
  };
  out_.text(line.kind).text(",");
  out_.text(support::escape_csv_cell(line.name, cell_));
  out_.reserve(512);
  out_.raw(",").signed_number(static_cast<std::int64_t>(line.start_ns - prescan_.window.start_ns));
  out_.raw(",").number(line.end_ns > line.start_ns ? line.end_ns - line.start_ns : 0);
  out_.raw(",").number(prescan_.pid);
  for (const Id& id : {line.tid, line.device, line.stream, line.correlation, line.id, line.parent})
    number(id);
  const model::Step* const step = step_at(prescan_.steps, line.start_ns);
  number(step == nullptr ? Id() : Id(step->label));
  number(line.bytes);
  out_.raw(",");
  out_.text(support::escape_csv_cell(line.stack, cell_));
  out_.text(",");
  out_.text(support::escape_csv_cell(details_, cell_));
  out_.text("\r\n");
  details_.clear();
}

void CsvRowSink::on(const ResolvedOperator& o) {
  const model::Operator& e = o.event;
  if (e.sequence >= 0) detail("sequence", e.sequence);
  if (o.module != 0) detail("module", prescan_.modules.name(o.module, prescan_.names));
  if (o.nesting == Nesting::kOverlapping) detail("crosses", 1);
  const std::string_view inputs =
      e.inputs == 0 ? std::string_view() : prescan_.inputs.json_members(e.inputs);
  if (!inputs.empty()) detail("inputs", fmt::format("{{{}}}", inputs.substr(1)));
  write({"operator",
         o.name,
         o.interval.start_ns,
         o.interval.end_ns,
         e.tid,
         {},
         {},
         {},
         e.id,
         known(o.parent),
         {},
         shown_.stacks().joined_frames(e.stack, e.start_ns)});
}

void CsvRowSink::on(const ResolvedRange& r) {
  const model::Range& e = r.event;
  if (!r.domain.empty()) detail("domain", encode_text(TextEncoding::kUtf8, r.domain, 1024));
  if (r.nesting == Nesting::kOverlapping && e.kind == model::RangeKind::kPushPop)
    detail("crosses", 1);
  const std::string_view kind = e.kind == model::RangeKind::kMark      ? "mark"
                                : e.kind == model::RangeKind::kPushPop ? "range"
                                                                       : "span";
  write({kind,
         r.name,
         r.interval.start_ns,
         r.interval.end_ns,
         e.tid,
         {},
         {},
         {},
         e.id,
         known(r.parent),
         {},
         shown_.stacks().joined_frames(e.stack, e.start_ns)});
}

void CsvRowSink::on(const ResolvedApiCall& c) {
  const model::ApiCall& e = c.event;
  if (e.result != 0) detail("result", e.result);
  if (c.nested) detail("inner", 1);
  write({e.api == 1 ? "driver_call" : "runtime_call",
         c.name,
         e.start_ns,
         e.end_ns,
         e.tid,
         {},
         {},
         e.correlation,
         {},
         known(c.owner),
         {},
         shown_.stacks().joined_frames(e.stack, e.start_ns)});
}

void CsvRowSink::on(const ResolvedGpuEvent<model::Kernel>& s) {
  const model::Kernel& e = s.event;
  fmt::format_to(std::back_inserter(details_),
                 "grid={}x{}x{} block={}x{}x{} registers={} shared={}", e.grid[0], e.grid[1],
                 e.grid[2], e.block[0], e.block[1], e.block[2], e.registers,
                 std::uint64_t{e.static_shared_bytes} + e.dynamic_shared_bytes);
  gpu("kernel", s, {});
}

void CsvRowSink::on(const ResolvedSync& s) {
  write({"sync",
         s.name,
         s.event.start_ns,
         s.event.end_ns,
         known(s.event.launch_tid),
         object(s.device),
         object(s.event.stream),
         s.event.correlation,
         {},
         known(s.owner),
         {},
         {}});
}

void CsvRowSink::on(const ResolvedSample& s) {
  detail("weight_ns", s.event.weight_ns);
  write({s.event.state == 0 ? "sample" : "sample_blocked",
         s.frames.empty() ? std::string_view() : shown_.stacks().name(s.frames.front()),
         s.event.ts_ns,
         s.event.ts_ns,
         s.event.tid,
         {},
         {},
         {},
         {},
         {},
         {},
         shown_.stacks().joined_frames(s.event.stack, s.event.ts_ns)});
}

void CsvRowSink::on(const model::Allocation& a) {
  detail("allocated", a.total_allocated_bytes);
  detail("reserved", a.total_reserved_bytes);
  detail("address", a.address);
  const bool host = a.device_type == 0;
  write({"memory",
         host ? "host" : "device",
         a.start_ns,
         a.start_ns,
         a.tid,
         host ? Id() : Id(static_cast<std::uint64_t>(a.device)),
         {},
         {},
         {},
         {},
         a.bytes,
         {}});
}

}  // namespace

support::Result<WrittenFile> write_csv(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  const auto write = [&](BufferedWriter& out) {
    CsvRowSink lines(*shown, out);
    lines.head();
    return shown->replay(lines);
  };
  GPUPROF_TRY(bytes, write_text_file(request.path, request.uncompressed, write));
  return shown->make_written_file("csv", bytes);
}

}  // namespace gpuprof::exporter
