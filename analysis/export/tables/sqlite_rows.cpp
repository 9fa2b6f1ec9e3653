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

SqliteRowSink::SqliteRowSink(EventResolver& shown, SqliteFile& file)
    : shown_(shown), file_(file), tables_(file) {}

std::uint64_t SqliteRowSink::text(std::string_view text) {
  scratch_.assign(text);
  const auto [found, fresh] = texts_.try_emplace(scratch_, texts_.size() + 1);
  if (fresh) file_.insert(tables_.strings, found->second, text);
  return found->second;
}

std::uint64_t SqliteRowSink::process() const {
  return std::uint64_t{shown_.prescan().pid} << kPidShift;
}
std::uint64_t SqliteRowSink::thread(std::uint32_t tid) const {
  return process() + (tid & ((1u << kPidShift) - 1));
}

SqliteRowSink::Number SqliteRowSink::step(std::uint64_t ns) const {
  const model::Step* const step = step_at(shown_.prescan().steps, ns);
  return step == nullptr ? Number() : Number(step->label);
}

SqliteRowSink::Number SqliteRowSink::stack(model::StackId stack, std::uint64_t ns) {
  if (stack == 0) return {};
  const auto [found, fresh] = known_stacks_.try_emplace(stack, StackTree::kRoot);
  if (fresh)
    found->second =
        tree_.add_stack(StackTree::kRoot, shown_.stacks().frames(stack, ns), shown_.stacks());
  return null_if_zero(found->second);
}

void SqliteRowSink::write_metadata() {
  const Prescan& prescan = shown_.prescan();
  const FileRequest& request = shown_.request();
  file_.insert(tables_.start_time, prescan.window.stamp_real_ns,
               prescan.window.end_ns - prescan.window.start_ns);
  for (const auto& [index, d] : prescan.devices)
    file_.insert(tables_.gpus, index, prescan.names.text(d.name), d.total_memory_bytes, d.sm_count,
                 d.compute_major, d.compute_minor, d.warp_size, d.max_threads_per_block,
                 d.max_threads_per_sm, std::uint64_t{d.clock_khz} * 1000, d.l2_bytes,
                 is_simulated(prescan));
  const auto plain = [](const std::string& text) {
    return encode_text(TextEncoding::kUtf8, text, 65536);
  };
  file_.insert(tables_.processes, process(), prescan.pid, plain(prescan.exe),
               plain(prescan.command_line), request.session.host, request.worker);
  for (const auto& [tid, thread_of] : prescan.threads)
    file_.insert(tables_.threads, text(plain(thread_of.name)), Number(), thread(tid));
  file_.insert(tables_.facts, std::string_view("gpuprof"), request.session.options.version);
  file_.insert(tables_.facts, std::string_view("window"), prescan.window.why);
  for (const auto& [key, value] : prescan.facts)
    file_.insert(tables_.facts, plain(key), plain(value));
  for (const std::string& message : shown_.missing()) file_.insert(tables_.missing, message);
  for (const auto& [reason, loss] : prescan.losses)
    file_.insert(tables_.drops, model::loss_name(model::LossReason{reason}), loss.in_window,
                 loss.total);
}

void SqliteRowSink::on(const ResolvedStep& s) {
  file_.insert(tables_.steps, s.event.label, time(s.event.start_ns), time(s.event.end_ns),
               thread(s.event.tid), name_of(static_cast<StepOrigin>(s.event.source)),
               s.event.confidence, s.where);
}

void SqliteRowSink::on(const ResolvedOperator& o) {
  const model::Operator& e = o.event;
  std::string_view inputs =
      e.inputs == 0 ? std::string_view() : shown_.prescan().inputs.json_members(e.inputs);
  std::optional<std::string> all, module;
  if (!inputs.empty()) all = "{" + std::string(inputs.substr(1)) + "}";
  if (o.module != 0) module = shown_.prescan().modules.name(o.module, shown_.prescan().names);
  file_.insert(tables_.operators, e.id, time(o.interval.start_ns), time(o.interval.end_ns),
               thread(e.tid), text(o.name), null_if_zero(o.parent),
               e.sequence < 0 ? Number() : Number(e.sequence), null_if_zero(e.forward_tid),
               o.link == nullptr ? Number() : null_if_zero(o.link->forward_id), e.scope, module,
               stack(e.stack, e.start_ns), all, o.nesting != Nesting::kOverlapping,
               step(o.interval.start_ns));
}

void SqliteRowSink::on(const ResolvedRange& r) {
  const model::Range& e = r.event;
  file_.insert(tables_.ranges, time(r.interval.start_ns),
               e.kind == model::RangeKind::kMark ? std::optional<std::int64_t>()
                                                 : std::optional(time(r.interval.end_ns)),
               event_type(e.kind), e.id, e.category, e.color, r.name, thread(e.tid),
               thread(e.end_tid), text(r.name), e.domain,
               encode_text(TextEncoding::kUtf8, r.domain, 1024), e.payload_type, e.payload,
               null_if_zero(r.parent), r.nesting != Nesting::kOverlapping,
               step(r.interval.start_ns));
}

void SqliteRowSink::on(const ResolvedApiCall& c) {
  const model::ApiCall& e = c.event;
  file_.insert(tables_.calls, time(e.start_ns), time(e.end_ns),
               e.api == 1 ? kDriverCall : kRuntimeCall, thread(e.tid), e.correlation, text(c.name),
               e.result, stack(e.stack, e.start_ns), c.nested, null_if_zero(c.owner),
               step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedGpuEvent<model::Kernel>& s) {
  const model::Kernel& e = s.event;
  const std::uint64_t name = text(s.name);
  file_.insert(tables_.kernels, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), name, name, e.registers, e.grid[0], e.grid[1], e.grid[2],
               e.block[0], e.block[1], e.block[2], e.static_shared_bytes, e.dynamic_shared_bytes,
               e.local_per_thread_bytes, e.shared_executed_bytes, null_if_zero(e.graph),
               null_if_zero(e.graph_node), null_if_zero(s.owner), step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedGpuEvent<model::MemCopy>& s) {
  const model::MemCopy& e = s.event;
  file_.insert(tables_.copies, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.bytes, e.copy_kind, e.src_kind, e.dst_kind,
               e.dst_device == model::kNoObject ? Number() : Number(e.dst_device),
               null_if_zero(e.graph), null_if_zero(e.graph_node), text(s.name),
               null_if_zero(s.owner), step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedGpuEvent<model::MemSet>& s) {
  const model::MemSet& e = s.event;
  file_.insert(tables_.sets, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.value, e.bytes, e.memory_kind, null_if_zero(e.graph),
               null_if_zero(e.graph_node), text(s.name), null_if_zero(s.owner), step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedGpuEvent<model::GraphExec>& s) {
  const model::GraphExec& e = s.event;
  file_.insert(tables_.graphs, time(e.start_ns), time(e.end_ns), s.device, e.context, e.stream,
               e.correlation, process(), e.graph, null_if_zero(s.owner), step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedSync& s) {
  const model::Sync& e = s.event;
  const auto object = [](std::uint32_t id) {
    return id == model::kNoObject ? Number() : Number(id);
  };
  file_.insert(tables_.syncs, time(e.start_ns), time(e.end_ns), object(s.device), e.context,
               object(e.stream), e.correlation, process(), e.type, object(e.event), text(s.name),
               null_if_zero(s.owner), step(e.start_ns));
}

void SqliteRowSink::on(const ResolvedOverhead& o) {
  file_.insert(tables_.overheads, time(o.event.start_ns), time(o.event.end_ns), thread(o.event.tid),
               text(o.name));
}

void SqliteRowSink::on(const ResolvedSample& s) {
  file_.insert(tables_.samples, time(s.event.ts_ns), thread(s.event.tid), s.event.weight_ns,
               s.event.state, stack(s.event.stack, s.event.ts_ns), step(s.event.ts_ns));
}

void SqliteRowSink::on(const model::Allocation& a) {
  file_.insert(tables_.allocations, time(a.start_ns), thread(a.tid), a.device_type, a.device,
               a.address, a.bytes, a.total_allocated_bytes, a.total_reserved_bytes,
               step(a.start_ns));
}

void SqliteRowSink::on(const ModuleCall& c) {
  const ModulePaths& modules = shown_.prescan().modules;
  file_.insert(tables_.modules, time(c.start_ns), time(c.end_ns), thread(c.tid),
               text(modules.name(c.path, shown_.prescan().names)), c.path,
               null_if_zero(modules.parent(c.path)), step(c.start_ns));
}

void SqliteRowSink::finish() {
  for (StackTree::Node node = 1; node < tree_.nodes(); ++node)
    file_.insert(tables_.stacks, node, null_if_zero(tree_.parent(node)), tree_.entry(node));
  for (StackTree::Entry entry = 1; entry < tree_.entries(); ++entry) {
    const StackTree::EntryInfo& line = tree_.line(entry);
    file_.insert(tables_.frames, entry, line.name, line.file, null_if_zero(line.line));
  }
  create_indexes(file_);
}

support::Result<WrittenFile> write_sqlite(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  GPUPROF_TRY(file, SqliteFile::create(request.path));
  SqliteRowSink rows(*shown, *file);
  rows.write_metadata();
  GPUPROF_CHECK(shown->replay(rows));
  rows.finish();
  GPUPROF_TRY(bytes, file->finish());
  return shown->make_written_file("sqlite", bytes);
}

}  // namespace gpuprof::exporter
