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
struct Line {
  std::string_view kind, name;
  std::uint64_t start_ns, end_ns;
  std::optional<std::uint64_t> tid, device, stream, correlation, id, parent;
  std::optional<std::int64_t> bytes;
  std::string_view stack;
};

class CsvLines final : public ShownSink {
 public:
  CsvLines(Shown& shown, JsonText& out) : shown_(shown), survey_(shown.survey()), out_(out) {}

  void head() {
    out_.text(kHeader);
    const model::Window& window = survey_.window;
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
    for (const std::string& sentence : shown_.missing())
      write(
          {"missing", sentence, window.start_ns, window.start_ns, {}, {}, {}, {}, {}, {}, {}, {}});
  }

  using ShownSink::on;
  void on(const ShownStep& s) override {
    detail("source", name_of(static_cast<StepBy>(s.e.source)));
    if (!s.where.empty()) detail("where", s.where);
    write({"step",
           fmt::format("ProfilerStep#{}", s.e.label),
           s.e.start_ns,
           s.e.end_ns,
           s.e.tid,
           {},
           {},
           {},
           {},
           {},
           {},
           {}});
  }
  void on(const ShownOp& o) override;
  void on(const ShownRange& r) override;
  void on(const ShownCall& c) override;
  void on(const ShownGpu<model::Kernel>& s) override;
  void on(const ShownGpu<model::MemCopy>& s) override {
    gpu("memcpy", s, static_cast<std::int64_t>(s.e.bytes));
  }
  void on(const ShownGpu<model::MemSet>& s) override {
    gpu("memset", s, static_cast<std::int64_t>(s.e.bytes));
  }
  void on(const ShownGpu<model::GraphExec>& s) override { gpu("graph", s, {}); }
  void on(const ShownSync& s) override;
  void on(const ShownOverhead& o) override {
    write({"overhead", o.name, o.e.start_ns, o.e.end_ns, o.e.tid, {}, {}, {}, {}, {}, {}, {}});
  }
  void on(const ShownSample& s) override;
  void on(const model::Allocation& a) override;
  void on(const ModuleCall& c) override {
    write({"module",
           survey_.modules.name(c.path, survey_.names),
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
  void gpu(std::string_view kind, const ShownGpu<E>& s, std::optional<std::int64_t> bytes) {
    if (s.e.graph != 0) detail("graph", s.e.graph);
    write({kind,
           s.name,
           s.e.start_ns,
           s.e.end_ns,
           known(s.e.launch_tid),
           s.device,
           s.e.stream,
           s.e.correlation,
           {},
           known(s.owner),
           bytes,
           {}});
  }
  void write(const Line& line);

  Shown& shown_;
  Survey& survey_;
  JsonText& out_;
  std::string details_;  // of the line that comes next
  std::string cell_;
};

void CsvLines::write(const Line& line) {
  const auto number = [this](const auto& value) {
    out_.raw(",");
    if (value) out_.signed_number(static_cast<std::int64_t>(*value));
  };
  out_.text(line.kind).text(",");
  out_.text(support::csv_cell(line.name, cell_));
  out_.need(512);
  out_.raw(",").signed_number(static_cast<std::int64_t>(line.start_ns - survey_.window.start_ns));
  out_.raw(",").number(line.end_ns > line.start_ns ? line.end_ns - line.start_ns : 0);
  out_.raw(",").number(survey_.pid);
  for (const Id& id : {line.tid, line.device, line.stream, line.correlation, line.id, line.parent})
    number(id);
  const model::Step* const step = step_at(survey_.steps, line.start_ns);
  number(step == nullptr ? Id() : Id(step->label));
  number(line.bytes);
  out_.raw(",");
  out_.text(support::csv_cell(line.stack, cell_));
  out_.text(",");
  out_.text(support::csv_cell(details_, cell_));
  out_.text("\r\n");
  details_.clear();
}

void CsvLines::on(const ShownOp& o) {
  const model::Operator& e = o.e;
  if (e.sequence >= 0) detail("sequence", e.sequence);
  if (o.module != 0) detail("module", survey_.modules.name(o.module, survey_.names));
  if (o.nesting == Nesting::kApart) detail("crosses", 1);
  const std::string_view inputs =
      e.inputs == 0 ? std::string_view() : survey_.inputs.members(e.inputs);
  if (!inputs.empty()) detail("inputs", fmt::format("{{{}}}", inputs.substr(1)));
  write({"operator",
         o.name,
         o.drawn.start_ns,
         o.drawn.end_ns,
         e.tid,
         {},
         {},
         {},
         e.id,
         known(o.parent),
         {},
         shown_.stacks().line(e.stack, e.start_ns)});
}

void CsvLines::on(const ShownRange& r) {
  const model::Range& e = r.e;
  if (!r.domain.empty()) detail("domain", written_as(Texts::kPlain, r.domain, 1024));
  if (r.nesting == Nesting::kApart && e.kind == model::RangeKind::kPushPop) detail("crosses", 1);
  const std::string_view kind = e.kind == model::RangeKind::kMark      ? "mark"
                                : e.kind == model::RangeKind::kPushPop ? "range"
                                                                       : "span";
  write({kind,
         r.name,
         r.drawn.start_ns,
         r.drawn.end_ns,
         e.tid,
         {},
         {},
         {},
         e.id,
         known(r.parent),
         {},
         shown_.stacks().line(e.stack, e.start_ns)});
}

void CsvLines::on(const ShownCall& c) {
  const model::ApiCall& e = c.e;
  if (e.result != 0) detail("result", e.result);
  if (c.inner) detail("inner", 1);
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
         shown_.stacks().line(e.stack, e.start_ns)});
}

void CsvLines::on(const ShownGpu<model::Kernel>& s) {
  const model::Kernel& e = s.e;
  fmt::format_to(std::back_inserter(details_),
                 "grid={}x{}x{} block={}x{}x{} registers={} shared={}", e.grid[0], e.grid[1],
                 e.grid[2], e.block[0], e.block[1], e.block[2], e.registers,
                 std::uint64_t{e.static_shared_bytes} + e.dynamic_shared_bytes);
  gpu("kernel", s, {});
}

void CsvLines::on(const ShownSync& s) {
  write({"sync",
         s.name,
         s.e.start_ns,
         s.e.end_ns,
         known(s.e.launch_tid),
         object(s.device),
         object(s.e.stream),
         s.e.correlation,
         {},
         known(s.owner),
         {},
         {}});
}

void CsvLines::on(const ShownSample& s) {
  detail("weight_ns", s.e.weight_ns);
  write({s.e.state == 0 ? "sample" : "sample_blocked",
         s.frames.empty() ? std::string_view() : shown_.stacks().name(s.frames.front()),
         s.e.ts_ns,
         s.e.ts_ns,
         s.e.tid,
         {},
         {},
         {},
         {},
         {},
         {},
         shown_.stacks().line(s.e.stack, s.e.ts_ns)});
}

void CsvLines::on(const model::Allocation& a) {
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

support::Result<FileWritten> write_csv(const FileRequest& request) {
  GPUPROF_TRY(shown, Shown::open(request));
  const auto write = [&](JsonText& out) {
    CsvLines lines(*shown, out);
    lines.head();
    return shown->replay(lines);
  };
  GPUPROF_TRY(bytes, write_text(request.path, request.plain, write));
  return shown->written("csv", bytes);
}

}  // namespace gpuprof::exporter
