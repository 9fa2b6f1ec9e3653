// SPDX-License-Identifier: Apache-2.0
//
// From what is shown to rows.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/prescan/step_index.hpp"
#include "analysis/export/tables/sqlite_tables.hpp"
#include "analysis/export/tables/sqlite_writer.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

/// As NVIDIA's profiler numbers them: pid and tid are found again by division.
constexpr unsigned kPidShift = 24;
/// Its kinds of NVTX event.
constexpr std::uint32_t kMark = 34, kPushPop = 59, kStartEnd = 60;
/// Its classes of call.
constexpr std::uint32_t kRuntimeCall = 0, kDriverCall = 1;

constexpr std::uint32_t event_type(model::RangeKind kind) {
  return kind == model::RangeKind::kMark      ? kMark
         : kind == model::RangeKind::kPushPop ? kPushPop
                                              : kStartEnd;
}

}  // namespace

SqliteRows::SqliteRows(Shown& shown, SqliteFile& file)
    : shown_(shown), file_(file), tables_(file) {}

std::uint64_t SqliteRows::text(std::string_view text) {
  scratch_.assign(text);
  const auto [found, fresh] = texts_.try_emplace(scratch_, texts_.size() + 1);
  if (fresh) file_.insert(tables_.strings, found->second, text);
  return found->second;
}

std::uint64_t SqliteRows::process() const {
  return std::uint64_t{shown_.survey().pid} << kPidShift;
}
std::uint64_t SqliteRows::thread(std::uint32_t tid) const {
  return process() + (tid & ((1u << kPidShift) - 1));
}

SqliteRows::Number SqliteRows::step(std::uint64_t ns) const {
  const model::Step* const step = step_at(shown_.survey().steps, ns);
  return step == nullptr ? Number() : Number(step->label);
}

SqliteRows::Number SqliteRows::stack(model::StackId stack, std::uint64_t ns) {
  if (stack == 0) return {};
  const auto [found, fresh] = known_stacks_.try_emplace(stack, StackTree::kRoot);
  if (fresh)
    found->second =
        tree_.below(StackTree::kRoot, shown_.stacks().frames(stack, ns), shown_.stacks());
  return known(found->second);
}

void SqliteRows::head() {
  const Survey& survey = shown_.survey();
  const FileRequest& request = shown_.request();
  file_.insert(tables_.start_time, survey.window.stamp_real_ns,
               survey.window.end_ns - survey.window.start_ns);
  for (const auto& [index, d] : survey.devices)
    file_.insert(tables_.gpus, index, survey.names.text(d.name), d.total_memory_bytes, d.sm_count,
                 d.compute_major, d.compute_minor, d.warp_size, d.max_threads_per_block,
                 d.max_threads_per_sm, std::uint64_t{d.clock_khz} * 1000, d.l2_bytes,
                 is_simulated(survey));
  const auto plain = [](const std::string& text) { return written_as(Texts::kPlain, text, 65536); };
  file_.insert(tables_.processes, process(), survey.pid, plain(survey.exe),
               plain(survey.command_line), request.session.host, request.worker);
  for (const auto& [tid, thread_of] : survey.threads)
    file_.insert(tables_.threads, text(plain(thread_of.name)), Number(), thread(tid));
  file_.insert(tables_.facts, std::string_view("gpuprof"), request.session.options.version);
  file_.insert(tables_.facts, std::string_view("window"), survey.window.why);
  for (const auto& [key, value] : survey.facts)
    file_.insert(tables_.facts, plain(key), plain(value));
  for (const std::string& sentence : shown_.missing()) file_.insert(tables_.missing, sentence);
  for (const auto& [reason, loss] : survey.losses)
    file_.insert(tables_.drops, model::name_of(model::LossReason{reason}), loss.in_window,
                 loss.total);
}

void SqliteRows::on(const ShownStep& s) {
  file_.insert(tables_.steps, s.e.label, time(s.e.start_ns), time(s.e.end_ns), thread(s.e.tid),
               name_of(static_cast<StepBy>(s.e.source)), s.e.confidence, s.where);
}

void SqliteRows::on(const ShownOp& o) {
  const model::Operator& e = o.e;
  std::string_view inputs =
      e.inputs == 0 ? std::string_view() : shown_.survey().inputs.members(e.inputs);
  std::optional<std::string> all, module;
  if (!inputs.empty()) all = "{" + std::string(inputs.substr(1)) + "}";
  if (o.module != 0) module = shown_.survey().modules.name(o.module, shown_.survey().names);
  file_.insert(tables_.operators, e.id, time(o.drawn.start_ns), time(o.drawn.end_ns), thread(e.tid),
               text(o.name), known(o.parent), e.sequence < 0 ? Number() : Number(e.sequence),
               known(e.forward_tid), o.link == nullptr ? Number() : known(o.link->forward_id),
               e.scope, module, stack(e.stack, e.start_ns), all, o.nesting != Nesting::kApart,
               step(o.drawn.start_ns));
}

void SqliteRows::on(const ShownRange& r) {
  const model::Range& e = r.e;
  file_.insert(tables_.ranges, time(r.drawn.start_ns),
               e.kind == model::RangeKind::kMark ? std::optional<std::int64_t>()
                                                 : std::optional(time(r.drawn.end_ns)),
               event_type(e.kind), e.id, e.category, e.color, r.name, thread(e.tid),
               thread(e.end_tid), text(r.name), e.domain, written_as(Texts::kPlain, r.domain, 1024),
               e.payload_type, e.payload, known(r.parent), r.nesting != Nesting::kApart,
               step(r.drawn.start_ns));
}

void SqliteRows::on(const ShownCall& c) {
  const model::ApiCall& e = c.e;
  file_.insert(tables_.calls, time(e.start_ns), time(e.end_ns),
               e.api == 1 ? kDriverCall : kRuntimeCall, thread(e.tid), e.correlation, text(c.name),
               e.result, stack(e.stack, e.start_ns), c.inner, known(c.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownGpu<model::Kernel>& s) {
  const model::Kernel& e = s.e;
  const std::uint64_t name = text(s.name);
  file_.insert(tables_.kernels, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), name, name, e.registers, e.grid[0], e.grid[1], e.grid[2],
               e.block[0], e.block[1], e.block[2], e.static_shared_bytes, e.dynamic_shared_bytes,
               e.local_per_thread_bytes, e.shared_executed_bytes, known(e.graph),
               known(e.graph_node), known(s.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownGpu<model::MemCopy>& s) {
  const model::MemCopy& e = s.e;
  file_.insert(tables_.copies, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.bytes, e.copy_kind, e.src_kind, e.dst_kind,
               e.dst_device == model::kNoObject ? Number() : Number(e.dst_device), known(e.graph),
               known(e.graph_node), text(s.name), known(s.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownGpu<model::MemSet>& s) {
  const model::MemSet& e = s.e;
  file_.insert(tables_.sets, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.value, e.bytes, e.memory_kind, known(e.graph),
               known(e.graph_node), text(s.name), known(s.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownGpu<model::GraphExec>& s) {
  const model::GraphExec& e = s.e;
  file_.insert(tables_.graphs, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.graph, known(s.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownSync& s) {
  const model::Sync& e = s.e;
  const auto object = [](std::uint32_t id) {
    return id == model::kNoObject ? Number() : Number(id);
  };
  file_.insert(tables_.syncs, time(e.start_ns), time(e.end_ns), object(s.device), e.context,
               object(e.stream), e.correlation, process(), e.type, object(e.event), text(s.name),
               known(s.owner), step(e.start_ns));
}

void SqliteRows::on(const ShownOverhead& o) {
  file_.insert(tables_.overheads, time(o.e.start_ns), time(o.e.end_ns), thread(o.e.tid),
               text(o.name));
}

void SqliteRows::on(const ShownSample& s) {
  file_.insert(tables_.samples, time(s.e.ts_ns), thread(s.e.tid), s.e.weight_ns, s.e.state,
               stack(s.e.stack, s.e.ts_ns), step(s.e.ts_ns));
}

void SqliteRows::on(const model::Allocation& a) {
  file_.insert(tables_.allocations, time(a.start_ns), thread(a.tid), a.device_type, a.device,
               a.address, a.bytes, a.total_allocated_bytes, a.total_reserved_bytes,
               step(a.start_ns));
}

void SqliteRows::on(const ModuleCall& c) {
  const ModulePaths& modules = shown_.survey().modules;
  file_.insert(tables_.modules, time(c.start_ns), time(c.end_ns), thread(c.tid),
               text(modules.name(c.path, shown_.survey().names)), c.path,
               known(modules.parent(c.path)), step(c.start_ns));
}

void SqliteRows::finish() {
  for (StackTree::Node node = 1; node < tree_.nodes(); ++node)
    file_.insert(tables_.stacks, node, known(tree_.parent(node)), tree_.entry(node));
  for (StackTree::Entry entry = 1; entry < tree_.entries(); ++entry) {
    const StackTree::Line& line = tree_.line(entry);
    file_.insert(tables_.frames, entry, line.name, line.file, known(line.line));
  }
  make_indexes(file_);
}

support::Result<FileWritten> write_sqlite(const FileRequest& request) {
  GPUPROF_TRY(shown, Shown::open(request));
  GPUPROF_TRY(file, SqliteFile::create(request.path));
  SqliteRows rows(*shown, *file);
  rows.head();
  GPUPROF_CHECK(shown->replay(rows));
  rows.finish();
  GPUPROF_TRY(bytes, file->finish());
  return shown->written("sqlite", bytes);
}

}  // namespace gpuprof::exporter
