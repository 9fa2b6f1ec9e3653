// SPDX-License-Identifier: Apache-2.0
//
// Classifier: categories, rows and times.
//
// Context:  cli through daemon/api
// Not here: what the arguments of each kind become (classify_host.cpp, classify_gpu.cpp)
#include "daemon/import/classify.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::importer {
namespace {

constexpr std::size_t kMaxCategories = 1000;
constexpr std::size_t kMaxProcesses = 10'000;
constexpr std::size_t kMaxThreads = 100'000;
constexpr std::size_t kMaxBegun = 1'000'000;
/// Threads that are no numbers, or too large ones, get these.
constexpr std::uint32_t kFirstMadeTid = 4'000'000'000;
/// Rows of samples: the thread's own number plus this.
constexpr std::int64_t kSampleRow = 100'000'000;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return out;
}

/// `thread 12 (python)` of PyTorch's profiler, `python 12 (main)` of gpuprof: the name in it.
std::string thread_name(std::string_view label, std::int64_t tid) {
  const std::string number = std::to_string(tid);
  const std::string older = "thread " + number + " (";
  if (label.starts_with(older) && label.ends_with(')'))
    return std::string(label.substr(older.size(), label.size() - older.size() - 1));
  if (label.ends_with(" (main)")) label.remove_suffix(7);
  if (label.ends_with(" " + number)) label.remove_suffix(number.size() + 1);
  return label == "thread" ? std::string() : std::string(label);
}

}  // namespace

Classifier::Classifier(Names& names, FileContent& content, std::string path,
                       std::function<void()> progress)
    : names_(names),
      content_(content),
      path_(std::move(path)),
      progress_(std::move(progress)),
      samples_(names, [this](std::uint32_t tid, std::int64_t from_ns, std::int64_t to_ns,
                             const SampleRecord& sample) {
        record_.kind = RecordKind::kSample;
        record_.start_ns = from_ns;
        record_.end_ns = to_ns;
        record_.tid = tid;
        record_.sample = sample;
        content_.any_samples = true;
        keep();
      }) {}

Classifier::Kind Classifier::kind_of(std::string_view category) {
  for (const Known& known : categories_)
    if (known.category == category) return known.kind;
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"cpu_op", Kind::kOperator},
      {"operator", Kind::kOperator},
      {"torch_enclosing", Kind::kOperator},
      {"user_annotation", Kind::kOwnRange},
      {"python", Kind::kOwnRange},
      {"python_function", Kind::kFrame},
      {"nvtx_enclosing", Kind::kRange},
      {"runtime", Kind::kRuntime},
      {"cuda_runtime", Kind::kRuntime},
      {"xpu_runtime", Kind::kRuntime},
      {"mtia_runtime", Kind::kRuntime},
      {"glow_runtime", Kind::kRuntime},
      {"privateuse1_runtime", Kind::kRuntime},
      {"cuda_driver", Kind::kDriver},
      {"inner_call", Kind::kInner},
      {"kernel", Kind::kKernel},
      {"gpu_memcpy", Kind::kMemCopy},
      {"memcpy", Kind::kMemCopy},
      {"gpu_memset", Kind::kMemSet},
      {"memset", Kind::kMemSet},
      {"cuda_sync", Kind::kSync},
      {"overhead", Kind::kOverhead},
      {"nvtx_range", Kind::kSpan},
      {"nvtx_crossing", Kind::kCrossing},
      {"nvtx_deep", Kind::kDeep},
      {"torch_crossing", Kind::kOperatorCrossing},
      {"torch_deep", Kind::kOperatorDeep},
      {"nvtx_mark", Kind::kMark},
      {"cpu_sample", Kind::kSample},
      {"cpu_sample_blocked", Kind::kSampleBlocked},
      {"fwdbwd", Kind::kArrow},
      {"forward_backward", Kind::kOlderArrow},
      {"gpu_user_annotation", Kind::kIgnored},
      {"trace", Kind::kIgnored},
      {"ac2g", Kind::kIgnored},
      {"async", Kind::kIgnored},
      {"async_cpu_to_gpu", Kind::kIgnored},
      {"async_gpu", Kind::kIgnored},
  };
  const std::string folded = lower(category);
  Kind kind = Kind::kUnknown;
  for (const auto& [name, is] : kKinds)
    if (name == folded) kind = is;
  if (categories_.size() < kMaxCategories) categories_.push_back({std::string(category), kind});
  return kind;
}

bool Classifier::times(const RawEvent& e, bool needs_duration, Record& to) {
  const auto ts = e.ts.given() ? us_as_ns(e.ts.text) : std::nullopt;
  const auto length = e.duration.given() ? us_as_ns(e.duration.text) : std::nullopt;
  if (!ts || (needs_duration && !length)) return false;
  to.start_ns = *ts;
  to.end_ns = needs_duration ? std::min(*ts + std::max<std::int64_t>(*length, 0), kLatestNs) : *ts;
  to.end_ns = std::max(to.end_ns, to.start_ns);
  if (*ts % 1000 != 0 || to.end_ns % 1000 != 0) content_.whole_us = false;
  return true;
}

/// Begins a record; null (and counted) where its times make no sense.
Record* Classifier::start(const RawEvent& e, RecordKind kind, bool needs_duration) {
  if (!times(e, needs_duration, record_)) {
    ++content_.without_time;
    return nullptr;
  }
  record_.kind = kind;
  record_.copies = 0;
  record_.name = 0;
  return &record_;
}

void Classifier::keep() {
  const bool event = record_.kind != RecordKind::kFrame && record_.kind != RecordKind::kModule &&
                     record_.kind != RecordKind::kArrow;
  if (event) {
    content_.first_ns = any_ ? std::min(content_.first_ns, record_.start_ns) : record_.start_ns;
    content_.last_ns = any_ ? std::max(content_.last_ns, record_.end_ns) : record_.end_ns;
    any_ = true;
  }
  ++content_.understood;
  if (record_.process != kNoProcess) ++content_.processes[record_.process].records;
  content_.sorter.add(record_);
}

void Classifier::left_out(const RawEvent& e) {
  const std::string_view category = e.category.empty() ? e.name : e.category;
  const std::string key(category.substr(0, 80));
  if (content_.unknown.size() < kMaxCategories || content_.unknown.contains(key))
    ++content_.unknown[key];
  else
    ++content_.unknown["(others)"];
}

std::uint16_t Classifier::process_of(const RawEvent& e) {
  const auto pid = e.pid.integer();
  if (pid) {
    const auto [at, added] =
        pids_.try_emplace(*pid, static_cast<std::uint16_t>(content_.processes.size()));
    if (!added) return at->second;
    if (content_.processes.size() >= kMaxProcesses) return at->second = 0;
  } else {
    const auto [at, added] = named_pids_.try_emplace(
        std::string(e.pid.text), static_cast<std::uint16_t>(content_.processes.size()));
    if (!added) return at->second;
    if (content_.processes.size() >= kMaxProcesses) return at->second = 0;
  }
  FileContent::Process& process = content_.processes.emplace_back();
  process.pid = pid.value_or(0);
  if (!pid) process.name = e.pid.text;
  return static_cast<std::uint16_t>(content_.processes.size() - 1);
}

std::uint32_t Classifier::tid_of(const RawEvent& e) {
  const auto tid = e.tid.integer();
  if (tid && *tid >= 0 && *tid < kFirstMadeTid) return static_cast<std::uint32_t>(*tid);
  if (tid && *tid < 0 && *tid > -std::int64_t{kFirstMadeTid})
    return static_cast<std::uint32_t>(-*tid);
  const auto [at, added] = named_tids_.try_emplace(
      std::string(e.tid.text), kFirstMadeTid + static_cast<std::uint32_t>(named_tids_.size()));
  if (added && named_tids_.size() > kMaxThreads) {
    named_tids_.erase(at);
    return kFirstMadeTid;
  }
  return at->second;
}

void Classifier::on_event(const RawEvent& e) {
  if (e.phase.size() != 1) {
    left_out(e);
    return;
  }
  switch (e.phase[0]) {
    case 'X':
      return complete(e);
    case 'i':
    case 'I':
    case 'R':
      return instant(e);
    case 'B':
    case 'E':
      return duration(e, e.phase[0] == 'B');
    case 'b':
    case 'e':
      return pair(e, e.phase[0] == 'b');
    case 's':
    case 'f':
    case 't':
      return arrow(e, e.phase[0] == 's');
    case 'M':
      return metadata(e);
    case 'C':
      return;  // counters: drawn by viewers from what is here already
    default:
      return left_out(e);
  }
}

void Classifier::complete(const RawEvent& e) {
  switch (const Kind kind = kind_of(e.category)) {
    case Kind::kOperator:
      return take_operator(e, RecordKind::kOperator, false);
    case Kind::kOwnRange:
      return take_operator(e, RecordKind::kOperator, true);
    case Kind::kRange:
      return take_operator(e, RecordKind::kRange, false);
    case Kind::kFrame:
      return take_frame(e);
    case Kind::kRuntime:
    case Kind::kDriver:
    case Kind::kInner:
      return take_call(e, kind);
    case Kind::kKernel:
      return take_kernel(e);
    case Kind::kMemCopy:
      return take_copy(e);
    case Kind::kMemSet:
      return take_set(e);
    case Kind::kSync:
      return take_sync(e);
    case Kind::kOverhead:
      return take_overhead(e);
    case Kind::kIgnored:
      return;
    default:
      return left_out(e);
  }
}

void Classifier::instant(const RawEvent& e) {
  if (e.name == "[memory]") return take_memory(e);
  if (kind_of(e.category) == Kind::kMark) {
    if (start(e, RecordKind::kMark, false) == nullptr) return;
    record_.process = process_of(e);
    record_.tid = tid_of(e);
    record_.name = names_.texts.intern(e.name);
    record_.op = {};
    range_details(e, record_.op);
    return keep();
  }
  // The profiler's own marks of where it was.
  if (e.name.starts_with("Iteration Start") || e.name == "Record Window End") return;
  left_out(e);
}

void Classifier::duration(const RawEvent& e, bool begins) {
  const Kind kind = kind_of(e.category);
  if (kind != Kind::kSample && kind != Kind::kSampleBlocked) return left_out(e);
  const auto row = e.tid.integer();
  const auto ts = us_as_ns(e.ts.text);
  if (!row || *row < kSampleRow || *row - kSampleRow >= kFirstMadeTid || !ts) return left_out(e);
  if (*ts % 1000 != 0) content_.whole_us = false;
  record_.process = process_of(e);
  samples_.change(static_cast<std::uint32_t>(*row - kSampleRow), begins,
                  kind == Kind::kSampleBlocked, e.name, *ts);
}

void Classifier::pair(const RawEvent& e, bool begins) {
  const Kind kind = kind_of(e.category);
  const bool range = kind == Kind::kSpan || kind == Kind::kCrossing || kind == Kind::kDeep;
  if (!range && kind != Kind::kOperatorCrossing && kind != Kind::kOperatorDeep) return left_out(e);
  const auto id = unsigned_of(e.id.text);
  if (!id || start(e, RecordKind::kSpan, false) == nullptr) return left_out(e);
  const std::uint64_t key = *id * 8 + static_cast<std::uint64_t>(kind) % 8;
  if (begins) {
    record_.process = process_of(e);
    record_.tid = tid_of(e);
    record_.name = names_.texts.intern(e.name);
    record_.op = {};
    record_.op.external_id = *id;
    record_.op.sequence = -1;
    record_.op.scope = range ? 255 : 0;
    const bool deep = kind == Kind::kDeep || kind == Kind::kOperatorDeep;
    if (kind != Kind::kSpan)
      record_.op.flags =
          static_cast<std::uint16_t>(deep ? model::kRangeDeep : model::kRangeCrossing);
    if (range) range_details(e, record_.op);
    if (begun_.size() < kMaxBegun) begun_[key] = {record_};
    return;
  }
  const auto found = begun_.find(key);
  if (found == begun_.end()) return left_out(e);
  const std::int64_t end_ns = record_.start_ns;
  record_ = found->second.record;
  begun_.erase(found);
  record_.end_ns = std::max(record_.start_ns, end_ns);
  record_.op.end_tid = tid_of(e);
  if (e.is_true(Arg::kUnfinished))
    record_.op.flags = static_cast<std::uint16_t>(record_.op.flags | model::kRangeUnfinished);
  keep();
}

void Classifier::arrow(const RawEvent& e, bool begins) {
  const Kind kind = kind_of(e.category);
  if (kind == Kind::kArrow) newer_arrows_ = true;
  if (kind == Kind::kIgnored || (kind == Kind::kOlderArrow && newer_arrows_)) return;
  if (kind != Kind::kArrow && kind != Kind::kOlderArrow) return left_out(e);
  const auto id = e.id.integer();
  if (!id || start(e, RecordKind::kArrow, false) == nullptr) return left_out(e);
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.arrow = {*id, 0};
  if (begins) {
    if (arrows_.size() < kMaxBegun) arrows_[*id] = record_.tid;
    return keep();
  }
  const auto from = arrows_.find(*id);
  if (from == arrows_.end()) return left_out(e);
  record_.arrow.forward_tid = from->second;
  keep();
}

void Classifier::metadata(const RawEvent& e) {
  const auto pid = e.pid.integer(), tid = e.tid.integer();
  if (e.name == "thread_name" && pid && tid) {
    const std::string_view label = e.text(Arg::kName);
    if (label.starts_with("stream ") && label.ends_with(" (default)"))
      content_.null_streams[{*pid, *tid}] = true;
    const auto process = pids_.find(*pid);
    if (label.ends_with(" (samples)") || *tid < 0 || *tid >= kFirstMadeTid) return;
    // Files name rows before their events.
    const std::uint16_t index = process == pids_.end() ? process_of(e) : process->second;
    auto& threads = content_.processes[index].threads;
    if (threads.size() < kMaxThreads && !label.starts_with("stream "))
      threads[static_cast<std::uint32_t>(*tid)] = thread_name(label, *tid);
  } else if (e.name == "process_name" && pid) {
    FileContent::Process& process = content_.processes[process_of(e)];
    if (process.name.empty()) process.name = e.text(Arg::kName);
  }
}

}  // namespace gpuprof::importer
