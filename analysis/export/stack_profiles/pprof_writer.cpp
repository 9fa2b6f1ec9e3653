// SPDX-License-Identifier: Apache-2.0
//
// Samples with equal stack, thread and step added up; then what their numbers mean.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/stack_profiles/pprof_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/stack_profiles/pprof_profile.pb.h"
#include "analysis/export/stack_profiles/weighted_stacks.hpp"

namespace gpuprof::exporter {
namespace {

/// Columns of a sample.
enum Column : std::size_t { kSamples, kCpu, kBlocked, kOperator, kKernels, kGpu, kColumns };
struct ColumnName {
  const char *type, *unit;
};
constexpr std::array<ColumnName, kColumns> kColumnNames = {{{"samples", "count"},
                                                            {"cpu", "nanoseconds"},
                                                            {"blocked", "nanoseconds"},
                                                            {"operator_self", "nanoseconds"},
                                                            {"kernels", "count"},
                                                            {"gpu", "nanoseconds"}}};

/// Keys of a sample's labels.
enum LabelKey : std::size_t { kThread, kStep, kDevice, kLabelKeys };
constexpr std::array<const char*, kLabelKeys> kLabelNames = {"thread", "step", "device"};

constexpr std::uint64_t kNoStep = ~0ULL;

/// What samples are added up by.
struct Key {
  StackTree::Node stack;
  std::uint32_t tid;
  std::uint64_t step;
  std::uint32_t device;  // kNoObject: the host
  bool operator==(const Key&) const = default;
};
using Values = std::array<std::int64_t, kColumns>;

/// Sums in the order of their first samples: no allocation each.
class SampleAggregator {
 public:
  struct Sum {
    Key key;
    Values values{};
  };
  static constexpr std::size_t kMaxSums = 500'000;

  Values& operator[](const Key& key) {
    std::size_t slot = hash(key) & (kSlots - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (kSlots - 1))
      if (sums_[slots_[slot] - 1].key == key) return sums_[slots_[slot] - 1].values;
    sums_.push_back({key});
    slots_[slot] = static_cast<std::uint32_t>(sums_.size());
    return sums_.back().values;
  }
  bool is_full() const { return sums_.size() >= kMaxSums; }
  const std::vector<Sum>& all() const { return sums_; }
  void clear() {
    sums_.clear();
    std::fill(slots_.begin(), slots_.end(), 0);
  }

 private:
  static constexpr std::size_t kSlots = 1 << 20;
  static_assert(kSlots >= 2 * kMaxSums);

  static std::size_t hash(const Key& key) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    std::uint64_t hash = (std::uint64_t{key.stack} << 32 | key.tid) * kOdd;
    hash = (hash ^ (hash >> 29) ^ key.step) * kOdd;
    return (hash ^ (hash >> 32) ^ key.device) * kOdd >> 32;
  }

  std::vector<Sum> sums_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(kSlots, 0);  // index + 1; 0: free
};

class PprofWriter {
 public:
  PprofWriter(EventResolver& shown, BufferedWriter& out) : shown_(shown), out_(out) { text(""); }

  support::Result<void> write() {
    head();
    GPUPROF_CHECK(
        collect_weighted_stacks(shown_, tree_, {}, [this](const WeightedStack& one) { add(one); }));
    flush();
    stacks();
    strings();
    return {};
  }

 private:
  std::int64_t text(const std::string& text) {
    const auto [found, fresh] =
        texts_.try_emplace(text, static_cast<std::int64_t>(text_order_.size()));
    if (fresh) text_order_.push_back(&found->first);
    return found->second;
  }
  std::int64_t thread_text(std::uint32_t tid) {
    const auto [found, fresh] = threads_.try_emplace(tid, 0);
    if (fresh) found->second = text(thread_label(shown_.prescan(), tid));
    return found->second;
  }
  /// Messages of one kind behind each other are one message.
  void put(const pprof::Profile& piece) {
    scratch_.clear();
    piece.AppendToString(&scratch_);
    out_.text(scratch_);
  }
  void head();
  void add(const WeightedStack& one);
  void flush();
  void stacks();
  void strings();
  pprof::Label& label(pprof::Sample& sample, LabelKey key);

  EventResolver& shown_;
  BufferedWriter& out_;
  StackTree tree_;
  SampleAggregator sums_;
  std::unordered_map<std::string, std::int64_t> texts_;
  std::vector<const std::string*> text_order_;
  std::unordered_map<std::uint32_t, std::int64_t> threads_;
  std::array<std::int64_t, kLabelKeys> label_texts_{};  // 0: not yet a text of the file
  std::string scratch_;
};

void PprofWriter::head() {
  const Prescan& prescan = shown_.prescan();
  pprof::Profile profile;
  for (const ColumnName& column : kColumnNames) {
    pprof::ValueType* const type = profile.add_sample_type();
    type->set_type_text(text(column.type));
    type->set_unit_text(text(column.unit));
  }
  profile.set_time_nanos(static_cast<std::int64_t>(prescan.window.stamp_real_ns));
  profile.set_duration_nanos(
      static_cast<std::int64_t>(prescan.window.end_ns - prescan.window.start_ns));
  profile.mutable_period_type()->set_type_text(text("cpu"));
  profile.mutable_period_type()->set_unit_text(text("nanoseconds"));
  profile.set_period(static_cast<std::int64_t>(prescan.sample_period_ns));
  const bool gpu = prescan.count(EventKind::kKernel) != 0;
  profile.set_default_sample_type_text(text(gpu ? "gpu"
                                            : prescan.count(EventKind::kSample) != 0
                                                ? "cpu"
                                                : "operator_self"));
  if (shown_.has_simulated_gpu()) profile.add_comment_text(text("on a simulated GPU"));
  for (const std::string& message : shown_.missing()) profile.add_comment_text(text(message));
  put(profile);
}

void PprofWriter::add(const WeightedStack& one) {
  const bool gpu = one.what == WeightedStack::WeightKind::kGpu;
  Values& values = sums_[{one.stack, one.tid, one.step == nullptr ? kNoStep : one.step->label,
                          gpu ? one.device : model::kNoObject}];
  constexpr std::array<Column, 4> kColumnOf = {kCpu, kBlocked, kOperator, kGpu};
  values[kColumnOf[static_cast<std::size_t>(one.what)]] += static_cast<std::int64_t>(one.ns);
  if (one.kernel) ++values[kKernels];
  if (one.what == WeightedStack::WeightKind::kOnCpu ||
      one.what == WeightedStack::WeightKind::kBlocked)
    ++values[kSamples];
  if (sums_.is_full()) flush();
}

pprof::Label& PprofWriter::label(pprof::Sample& sample, LabelKey key) {
  std::int64_t& known = label_texts_[key];
  if (known == 0) known = text(kLabelNames[key]);
  pprof::Label& label = *sample.add_label();
  label.set_key_text(known);
  return label;
}

void PprofWriter::flush() {
  pprof::Profile profile;
  for (const auto& [key, values] : sums_.all()) {
    profile.Clear();
    pprof::Sample& sample = *profile.add_sample();
    for (StackTree::Node node = key.stack; node != StackTree::kRoot; node = tree_.parent(node))
      sample.add_location_id(tree_.entry(node) + 1);
    for (const std::int64_t value : values) sample.add_value(value);
    if (key.tid != 0) label(sample, kThread).set_str_text(thread_text(key.tid));
    if (key.step != kNoStep) label(sample, kStep).set_num(static_cast<std::int64_t>(key.step));
    if (key.device != model::kNoObject) label(sample, kDevice).set_num(key.device);
    put(profile);
  }
  sums_.clear();
}

void PprofWriter::stacks() {
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> functions;
  for (StackTree::Entry entry = 0; entry < tree_.entries(); ++entry) {
    const StackTree::EntryInfo& line = tree_.line(entry);
    pprof::Profile profile;
    const auto [found, fresh] = functions.try_emplace({line.name, line.file}, functions.size() + 1);
    if (fresh) {
      pprof::Function* const function = profile.add_function();
      function->set_id(found->second);
      function->set_name_text(text(line.name));
      function->set_system_name_text(text(line.name));
      function->set_filename_text(text(line.file));
    }
    pprof::Location* const location = profile.add_location();
    location->set_id(entry + 1);
    pprof::Line* const at = location->add_line();
    at->set_function_id(found->second);
    at->set_line(line.line);
    put(profile);
  }
}

void PprofWriter::strings() {
  for (const std::string* const text : text_order_) {
    pprof::Profile profile;
    profile.add_string_table(*text);
    put(profile);
  }
}

}  // namespace

support::Result<WrittenFile> write_pprof(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  GPUPROF_TRY(bytes, write_text_file(request.path, request.uncompressed, [&](BufferedWriter& out) {
                return PprofWriter(*shown, out).write();
              }));
  return shown->make_written_file("pprof", bytes);
}

}  // namespace gpuprof::exporter
