// SPDX-License-Identifier: Apache-2.0
//
// Classifier: categories, rows and times.
//
// Context:  cli through analysis/commands
// Not here: what the arguments of each kind become (classify_host.cpp, classify_gpu.cpp)
#include "analysis/import/classify/classify.hpp"

#include <algorithm>
#include <utility>

#include "analysis/messages/import_events.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kMaxCategories = 1000;
constexpr std::size_t kMaxThreads = 100'000;
constexpr std::size_t kMaxBegun = 300'000;
/// Rows of samples: the thread's own number plus this.
constexpr std::int64_t kSampleRow = 100'000'000;

/// Chrome's names of what is said of rows.
bool is_metadata(std::string_view name) {
  return name.empty() || name.starts_with("process_") || name.starts_with("thread_") ||
         name == "num_cpus" || name == "trace_buffer_overflowed";
}

/// What a person would call the event's kind.
std::string_view kind_name(const RawEvent& e) {
  if (!e.category.empty()) return e.category;
  if (e.phase == "M" && is_metadata(e.name)) return "(metadata)";
  return e.name.empty() ? std::string_view("(no category)") : e.name;
}

/// What events of a kind are that is known by the end of its name alone.
std::string_view meaning_of(EventCategory kind, bool work) {
  switch (kind) {
    case EventCategory::kCollective:
      return work ? messages::import_events::kDeviceCollectives
                  : messages::import_events::kHostCollectives;
    case EventCategory::kCallOrGpuWork:
      return work ? messages::import_events::kDeviceWork : messages::import_events::kHostCalls;
    case EventCategory::kHostWait:
      return messages::import_events::kHostWaits;
    case EventCategory::kUserAnnotation:
      return messages::import_events::kHostRanges;
    case EventCategory::kRuntime:
    case EventCategory::kDriver:
      return messages::import_events::kHostCalls;
    case EventCategory::kNotAnEvent:
      return messages::import_events::kCounterValues;
    default:
      return messages::import_events::kDeviceWork;
  }
}

}  // namespace

Classifier::Classifier(InternedTables& names, FileContent& content, std::string path,
                       std::function<void()> progress, const FirstPassHints* foreseen)
    : names_(names),
      content_(content),
      path_(std::move(path)),
      progress_(std::move(progress)),
      hints_(foreseen),
      samples_(names, [this](std::uint32_t tid, std::int64_t from_ns, std::int64_t to_ns,
                             const SampleFields& sample) {
        record_.kind = ParsedKind::kSample;
        record_.start_ns = from_ns;
        record_.end_ns = to_ns;
        record_.tid = tid;
        record_.sample = sample;
        content_.any_samples = true;
        add_current();
      }) {}

Classifier::CategoryMatch Classifier::category_of(std::string_view category) {
  for (const CachedCategory& known : categories_)
    if (known.category == category) return known.sort;
  CategoryMatch sort{find_category(category), false};
  if (sort.kind == EventCategory::kUnknown) sort = {guess_category(category), true};
  if (categories_.size() < kMaxCategories) categories_.push_back({std::string(category), sort});
  return sort;
}

bool Classifier::times(const RawEvent& e, bool needs_duration, ParsedEvent& to) {
  const auto ts = e.ts.present() ? parse_us_as_ns(e.ts.text) : std::nullopt;
  const auto length = e.duration.present() ? parse_us_as_ns(e.duration.text) : std::nullopt;
  if (!ts || (needs_duration && !length)) return false;
  const std::int64_t length_ns = needs_duration ? length.value_or(0) : 0;
  if (length_ns < 0) content_.account.count_repairs(RepairKind::kNegativeLength);
  to.start_ns = *ts;
  to.end_ns = std::max(std::min(*ts + std::max<std::int64_t>(length_ns, 0), kLatestNs), *ts);
  if (*ts % 1000 != 0 || to.end_ns % 1000 != 0) content_.whole_us = false;
  return true;
}

/// Begins a record; null (and counted) where its times make no sense.
ParsedEvent* Classifier::start(const RawEvent& e, ParsedKind kind, bool needs_duration) {
  if (!times(e, needs_duration, record_)) {
    skip(e, SkipReason::kNoTime);
    return nullptr;
  }
  record_.kind = kind;
  record_.is_also_operator = 0;
  record_.name = 0;
  return &record_;
}

void Classifier::add_current() {
  outcome_ = Outcome::kImported;
  update_bounds(record_);
  content_.sorter.add(record_);
}

/// Its times and its row; before it gets its number.
void Classifier::update_bounds(const ParsedEvent& record) {
  if (is_event(record.kind)) {
    content_.first_ns = any_ ? std::min(content_.first_ns, record.start_ns) : record.start_ns;
    content_.last_ns = any_ ? std::max(content_.last_ns, record.end_ns) : record.end_ns;
    any_ = true;
  }
  content_.times.add(record.start_ns, record.end_ns);
  if (record.process == kNoProcess) return;
  PidTrack& row = content_.tracks[record.process];
  if (record.kind >= ParsedKind::kSync) {
    ++row.gpu_events;
  } else {
    const auto at = static_cast<std::uint32_t>(content_.sorter.size());
    if (row.host_events++ == 0) row.first = at;
    row.last = at;
  }
}

void Classifier::add_step(const RawEvent& e) {
  if (steps_.full()) return add_current();
  outcome_ = Outcome::kPending;
  any_known_ = any_known_ || !guessed_;
  update_bounds(record_);
  record_.sequence = content_.sorter.reserve();
  steps_.add(record_, kind_name(e));
}

void Classifier::emit_steps() {
  steps_.deduplicate(
      [this](const ParsedEvent& step) {
        content_.account.count_imported();
        content_.sorter.add_reserved(step);
      },
      [this](std::string_view category) { content_.account.count_duplicates(category); });
}

void Classifier::skip(const RawEvent& e, SkipReason reason) {
  if (outcome_ == Outcome::kSkipped) return;
  outcome_ = Outcome::kSkipped;
  content_.account.count_skipped(reason, kind_name(e));
}

void Classifier::count_duplicate(std::string_view kind) {
  if (kind != repeated_kind_) {
    if (repeated_ != 0) content_.account.count_duplicates(repeated_kind_, repeated_);
    repeated_kind_ = kind;
    repeated_ = 0;
  }
  ++repeated_;
}

std::uint32_t Classifier::tid_of(const RawEvent& e) {
  const auto tid = e.tid.integer();
  if (tid && *tid >= 0 && *tid < kFirstSyntheticTid) return static_cast<std::uint32_t>(*tid);
  if (tid && *tid < 0 && *tid > -std::int64_t{kFirstSyntheticTid})
    return static_cast<std::uint32_t>(-*tid);
  const auto [at, added] = named_tids_.try_emplace(
      std::string(e.tid.text), kFirstSyntheticTid + static_cast<std::uint32_t>(named_tids_.size()));
  if (added && named_tids_.size() > kMaxThreads) {
    named_tids_.erase(at);
    return kFirstSyntheticTid;
  }
  return at->second;
}

void Classifier::on_event(const RawEvent& e) {
  outcome_ = Outcome::kDuplicate;
  guessed_ = false;
  dispatch(e);
  any_known_ = any_known_ || (outcome_ == Outcome::kImported && !guessed_);
  if (outcome_ == Outcome::kImported) content_.account.count_imported();
  if (outcome_ == Outcome::kDuplicate) count_duplicate(kind_name(e));
}

void Classifier::dispatch(const RawEvent& e) {
  if (e.phase.size() != 1) return skip(e, SkipReason::kUnknownKind);
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
      return backward_flow(e, e.phase[0] == 's');
    case 'M':
      return is_metadata(e.name) ? metadata(e) : skip(e, SkipReason::kUnknownKind);
    case 'C':
      return counter(e);
    default:
      return skip(e, SkipReason::kUnknownKind);
  }
}

void Classifier::complete(const RawEvent& e) {
  if (e.category.empty()) return take_by_shape(e);
  const CategoryMatch sort = category_of(e.category);
  if (sort.kind == EventCategory::kUnknown) return take_by_shape(e);
  if (sort.guessed) count_guess(e.category, meaning_of(sort.kind, looks_like_gpu_work(e)));
  take(e, sort.kind);
}

void Classifier::take(const RawEvent& e, EventCategory kind) {
  switch (kind) {
    case EventCategory::kOperator:
      return take_operator(e, ParsedKind::kOperator, false);
    case EventCategory::kUserAnnotation:
      return take_operator(e, ParsedKind::kOperator, true);
    case EventCategory::kRange:
      return take_operator(e, ParsedKind::kRange, false);
    case EventCategory::kFrame:
      return take_frame(e);
    case EventCategory::kRuntime:
    case EventCategory::kDriver:
    case EventCategory::kNestedCall:
      return take_call(e, kind);
    case EventCategory::kHostWait:
      return take_host_wait(e);
    case EventCategory::kKernel:
      return take_kernel(e);
    case EventCategory::kMemCopy:
      return take_copy(e);
    case EventCategory::kMemSet:
      return take_set(e);
    case EventCategory::kSync:
      return take_sync(e);
    case EventCategory::kOverhead:
      return take_overhead(e);
    case EventCategory::kCallOrGpuWork:
      return looks_like_gpu_work(e) ? take_kernel(e) : take_call(e, EventCategory::kRuntime);
    case EventCategory::kCollective:
      return take_collective(e, looks_like_gpu_work(e));
    case EventCategory::kNotAnEvent:
      return skip(e, SkipReason::kUnsupportedInstant);
    case EventCategory::kDuplicate:
      return;
    default:
      return skip(e, SkipReason::kUnknownKind);
  }
}

void Classifier::instant(const RawEvent& e) {
  if (e.name == "[memory]") return take_memory(e);
  const EventCategory kind = kind_of(e.category);
  if (kind == EventCategory::kMark || kind == EventCategory::kInstant) {
    if (start(e, ParsedKind::kMark, false) == nullptr) return;
    record_.process = process_of(e);
    record_.tid = tid_of(e);
    record_.name = names_.texts.intern(e.name);
    record_.op = {};
    range_details(e, record_.op);
    return add_current();
  }
  // The profiler's own marks of where it was.
  if (e.name.starts_with("Iteration Start") || e.name == "Record Window End") return;
  skip(e, kind == EventCategory::kNotAnEvent ? SkipReason::kUnsupportedInstant
                                             : SkipReason::kUnknownKind);
}

/// Levels of something: in no table.
void Classifier::counter(const RawEvent& e) {
  outcome_ = Outcome::kPending;
  const std::string_view of = e.category.empty() ? e.name : e.category;
  if (counters_.size() < kMaxCategories || counters_.contains(std::string(of)))
    ++counters_[std::string(of)];
  else
    ++counters_["(others)"];
}

void Classifier::duration(const RawEvent& e, bool begins) {
  const EventCategory kind = kind_of(e.category);
  if (kind != EventCategory::kSample && kind != EventCategory::kOffCpuSample)
    return skip(e, SkipReason::kUnknownKind);
  const auto row = e.tid.integer();
  const auto ts = parse_us_as_ns(e.ts.text);
  if (!ts) return skip(e, SkipReason::kNoTime);
  if (!row || *row < kSampleRow || *row - kSampleRow >= kFirstSyntheticTid)
    return skip(e, SkipReason::kMissingArgs);
  if (*ts % 1000 != 0) content_.whole_us = false;
  record_.process = process_of(e);
  using Changed = SampleRebuilder::Outcome;
  const Changed changed = samples_.change(static_cast<std::uint32_t>(*row - kSampleRow), begins,
                                          kind == EventCategory::kOffCpuSample, e.name, *ts);
  if (changed == Changed::kUnpaired) return skip(e, SkipReason::kUnpaired);
  if (changed == Changed::kOutOfOrder) return skip(e, SkipReason::kOutOfOrder);
  outcome_ = Outcome::kImported;
}

void Classifier::pair(const RawEvent& e, bool begins) {
  const EventCategory kind = kind_of(e.category);
  const bool range = kind == EventCategory::kSpan || kind == EventCategory::kOverlappingRange ||
                     kind == EventCategory::kDeepRange;
  if (kind == EventCategory::kDuplicate) return;
  if (!range && kind != EventCategory::kOperatorCrossing && kind != EventCategory::kOperatorDeep)
    return skip(e, SkipReason::kUnknownKind);
  const auto id = parse_uint64(e.id.text);
  if (!id) return skip(e, SkipReason::kMissingArgs);
  if (start(e, ParsedKind::kSpan, false) == nullptr) return;
  const std::uint16_t row = process_of(e);
  const std::uint64_t key = (*id * 8 + static_cast<std::uint64_t>(kind) % 8) ^ std::uint64_t{row}
                                                                                   << 48;
  if (begins) {
    record_.process = row;
    record_.tid = tid_of(e);
    record_.name = names_.texts.intern(e.name);
    record_.op = {};
    record_.op.external_id = *id;
    record_.op.sequence = -1;
    record_.op.scope = range ? 255 : 0;
    const bool deep = kind == EventCategory::kDeepRange || kind == EventCategory::kOperatorDeep;
    if (kind != EventCategory::kSpan)
      record_.op.flags =
          static_cast<std::uint16_t>(deep ? model::kRangeDeep : model::kRangeCrossing);
    if (range) range_details(e, record_.op);
    if (begun_.size() >= kMaxBegun) return skip(e, SkipReason::kUnpaired);
    OpenSpan& begun = begun_[key];
    // A second begin under one number: the first has no end.
    if (!begun.category.empty())
      content_.account.move_to_skipped(SkipReason::kUnpaired, begun.category);
    begun = {record_, std::string(e.category)};
    outcome_ = Outcome::kImported;
    return;
  }
  const auto found = begun_.find(key);
  if (found == begun_.end()) return skip(e, SkipReason::kUnpaired);
  const std::int64_t end_ns = record_.start_ns;
  record_ = found->second.record;
  begun_.erase(found);
  record_.end_ns = std::max(record_.start_ns, end_ns);
  record_.op.end_tid = tid_of(e);
  if (e.is_true(Arg::kUnfinished))
    record_.op.flags = static_cast<std::uint16_t>(record_.op.flags | model::kRangeUnfinished);
  add_current();
}

}  // namespace gpuprof::importer
