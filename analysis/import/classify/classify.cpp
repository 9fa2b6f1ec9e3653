// SPDX-License-Identifier: Apache-2.0
//
// Classifier: categories, rows and times.
//
// Context:  cli through analysis/commands
// Not here: what the arguments of each kind become (classify_host.cpp, classify_gpu.cpp)
#include "analysis/import/classify/classify.hpp"

#include <algorithm>
#include <utility>

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
std::string_view meaning_of(Kind kind, bool work) {
  switch (kind) {
    case Kind::kCollective:
      return work ? "collectives of a device" : "collectives of the host";
    case Kind::kHostOrWork:
      return work ? "work of a device" : "calls of the host";
    case Kind::kHostWait:
      return "waits of the host";
    case Kind::kOwnRange:
      return "ranges of the host";
    case Kind::kRuntime:
    case Kind::kDriver:
      return "calls of the host";
    case Kind::kNoWork:
      return "levels";
    default:
      return "work of a device";
  }
}

}  // namespace

Classifier::Classifier(Names& names, FileContent& content, std::string path,
                       std::function<void()> progress, const Foreseen* foreseen)
    : names_(names),
      content_(content),
      path_(std::move(path)),
      progress_(std::move(progress)),
      foreseen_(foreseen),
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

Classifier::Sort Classifier::sort_of(std::string_view category) {
  for (const Known& known : categories_)
    if (known.category == category) return known.sort;
  Sort sort{kind_of_category(category), false};
  if (sort.kind == Kind::kUnknown) sort = {kind_by_ending(category), true};
  if (categories_.size() < kMaxCategories) categories_.push_back({std::string(category), sort});
  return sort;
}

bool Classifier::times(const RawEvent& e, bool needs_duration, Record& to) {
  const auto ts = e.ts.given() ? us_as_ns(e.ts.text) : std::nullopt;
  const auto length = e.duration.given() ? us_as_ns(e.duration.text) : std::nullopt;
  if (!ts || (needs_duration && !length)) return false;
  const std::int64_t length_ns = needs_duration ? length.value_or(0) : 0;
  if (length_ns < 0) content_.account.mended(Mending::kNegativeLength);
  to.start_ns = *ts;
  to.end_ns = std::max(std::min(*ts + std::max<std::int64_t>(length_ns, 0), kLatestNs), *ts);
  if (*ts % 1000 != 0 || to.end_ns % 1000 != 0) content_.whole_us = false;
  return true;
}

/// Begins a record; null (and counted) where its times make no sense.
Record* Classifier::start(const RawEvent& e, RecordKind kind, bool needs_duration) {
  if (!times(e, needs_duration, record_)) {
    left_out(e, Reason::kNoTime);
    return nullptr;
  }
  record_.kind = kind;
  record_.copies = 0;
  record_.name = 0;
  return &record_;
}

void Classifier::keep() {
  outcome_ = Outcome::kShown;
  note(record_);
  content_.sorter.add(record_);
}

/// Its times and its row; before it gets its number.
void Classifier::note(const Record& record) {
  if (is_event(record.kind)) {
    content_.first_ns = any_ ? std::min(content_.first_ns, record.start_ns) : record.start_ns;
    content_.last_ns = any_ ? std::max(content_.last_ns, record.end_ns) : record.end_ns;
    any_ = true;
  }
  content_.times.add(record.start_ns, record.end_ns);
  if (record.process == kNoProcess) return;
  Row& row = content_.rows[record.process];
  if (record.kind >= RecordKind::kSync) {
    ++row.gpu_records;
  } else {
    const auto at = static_cast<std::uint32_t>(content_.sorter.size());
    if (row.records++ == 0) row.first = at;
    row.last = at;
  }
}

void Classifier::hold_step(const RawEvent& e) {
  if (steps_.full()) return keep();
  outcome_ = Outcome::kLater;
  any_known_ = any_known_ || !guessed_;
  note(record_);
  record_.sequence = content_.sorter.reserve();
  steps_.hold(record_, kind_name(e));
}

void Classifier::settle_steps() {
  steps_.settle(
      [this](const Record& step) {
        content_.account.shown();
        content_.sorter.add_reserved(step);
      },
      [this](std::string_view category) { content_.account.repeats(category); });
}

void Classifier::left_out(const RawEvent& e, Reason reason) {
  if (outcome_ == Outcome::kLeftOut) return;
  outcome_ = Outcome::kLeftOut;
  content_.account.left_out(reason, kind_name(e));
}

void Classifier::repeats(std::string_view kind) {
  if (kind != repeated_kind_) {
    if (repeated_ != 0) content_.account.repeats(repeated_kind_, repeated_);
    repeated_kind_ = kind;
    repeated_ = 0;
  }
  ++repeated_;
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
  outcome_ = Outcome::kRepeats;
  guessed_ = false;
  dispatch(e);
  any_known_ = any_known_ || (outcome_ == Outcome::kShown && !guessed_);
  if (outcome_ == Outcome::kShown) content_.account.shown();
  if (outcome_ == Outcome::kRepeats) repeats(kind_name(e));
}

void Classifier::dispatch(const RawEvent& e) {
  if (e.phase.size() != 1) return left_out(e, Reason::kUnknownKind);
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
      return is_metadata(e.name) ? metadata(e) : left_out(e, Reason::kUnknownKind);
    case 'C':
      return counter(e);
    default:
      return left_out(e, Reason::kUnknownKind);
  }
}

void Classifier::complete(const RawEvent& e) {
  if (e.category.empty()) return by_shape(e);
  const Sort sort = sort_of(e.category);
  if (sort.kind == Kind::kUnknown) return by_shape(e);
  if (sort.guessed) guess(e.category, meaning_of(sort.kind, looks_like_work(e)));
  take(e, sort.kind);
}

void Classifier::take(const RawEvent& e, Kind kind) {
  switch (kind) {
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
    case Kind::kHostWait:
      return take_host_wait(e);
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
    case Kind::kHostOrWork:
      return looks_like_work(e) ? take_kernel(e) : take_call(e, Kind::kRuntime);
    case Kind::kCollective:
      return take_collective(e, looks_like_work(e));
    case Kind::kNoWork:
      return left_out(e, Reason::kNoWork);
    case Kind::kRepeats:
      return;
    default:
      return left_out(e, Reason::kUnknownKind);
  }
}

void Classifier::instant(const RawEvent& e) {
  if (e.name == "[memory]") return take_memory(e);
  const Kind kind = kind_of(e.category);
  if (kind == Kind::kMark || kind == Kind::kInstant) {
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
  left_out(e, kind == Kind::kNoWork ? Reason::kNoWork : Reason::kUnknownKind);
}

/// Levels of something: in no table.
void Classifier::counter(const RawEvent& e) {
  outcome_ = Outcome::kLater;
  const std::string_view of = e.category.empty() ? e.name : e.category;
  if (counters_.size() < kMaxCategories || counters_.contains(std::string(of)))
    ++counters_[std::string(of)];
  else
    ++counters_["(others)"];
}

void Classifier::duration(const RawEvent& e, bool begins) {
  const Kind kind = kind_of(e.category);
  if (kind != Kind::kSample && kind != Kind::kSampleBlocked)
    return left_out(e, Reason::kUnknownKind);
  const auto row = e.tid.integer();
  const auto ts = us_as_ns(e.ts.text);
  if (!ts) return left_out(e, Reason::kNoTime);
  if (!row || *row < kSampleRow || *row - kSampleRow >= kFirstMadeTid)
    return left_out(e, Reason::kNoDetails);
  if (*ts % 1000 != 0) content_.whole_us = false;
  record_.process = process_of(e);
  using Changed = SampleRows::Outcome;
  const Changed changed = samples_.change(static_cast<std::uint32_t>(*row - kSampleRow), begins,
                                          kind == Kind::kSampleBlocked, e.name, *ts);
  if (changed == Changed::kHalf) return left_out(e, Reason::kHalf);
  if (changed == Changed::kDisorder) return left_out(e, Reason::kDisorder);
  outcome_ = Outcome::kShown;
}

void Classifier::pair(const RawEvent& e, bool begins) {
  const Kind kind = kind_of(e.category);
  const bool range = kind == Kind::kSpan || kind == Kind::kCrossing || kind == Kind::kDeep;
  if (kind == Kind::kRepeats) return;
  if (!range && kind != Kind::kOperatorCrossing && kind != Kind::kOperatorDeep)
    return left_out(e, Reason::kUnknownKind);
  const auto id = unsigned_of(e.id.text);
  if (!id) return left_out(e, Reason::kNoDetails);
  if (start(e, RecordKind::kSpan, false) == nullptr) return;
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
    const bool deep = kind == Kind::kDeep || kind == Kind::kOperatorDeep;
    if (kind != Kind::kSpan)
      record_.op.flags =
          static_cast<std::uint16_t>(deep ? model::kRangeDeep : model::kRangeCrossing);
    if (range) range_details(e, record_.op);
    if (begun_.size() >= kMaxBegun) return left_out(e, Reason::kHalf);
    Begun& begun = begun_[key];
    // A second begin under one number: the first has no end.
    if (!begun.category.empty()) content_.account.withdraw(Reason::kHalf, begun.category);
    begun = {record_, std::string(e.category)};
    outcome_ = Outcome::kShown;
    return;
  }
  const auto found = begun_.find(key);
  if (found == begun_.end()) return left_out(e, Reason::kHalf);
  const std::int64_t end_ns = record_.start_ns;
  record_ = found->second.record;
  begun_.erase(found);
  record_.end_ns = std::max(record_.start_ns, end_ns);
  record_.op.end_tid = tid_of(e);
  if (e.is_true(Arg::kUnfinished))
    record_.op.flags = static_cast<std::uint16_t>(record_.op.flags | model::kRangeUnfinished);
  keep();
}

}  // namespace gpuprof::importer
