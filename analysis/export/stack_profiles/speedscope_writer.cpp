// SPDX-License-Identifier: Apache-2.0
//
// One sampled profile a thread, a device, and a thread's operators.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/stack_profiles/speedscope_writer.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/stack_profiles/weighted_stacks.hpp"
#include "analysis/messages/missing.hpp"

namespace gpuprof::exporter {
namespace {

class SpeedscopeWriter {
 public:
  explicit SpeedscopeWriter(EventResolver& shown) : shown_(shown) {}

  support::Result<void> read() {
    return collect_weighted_stacks(shown_, tree_, {},
                                   [this](const WeightedStack& one) { add(one); });
  }
  void write(BufferedWriter& json);
  std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kMaxStretches = 4'000'000;
  struct WeightedSample {
    StackTree::Node stack;
    std::uint64_t ns;
  };
  struct Profile {
    std::vector<WeightedSample> stretches;  // in the order they came
    std::uint64_t total_ns = 0;
  };
  /// What speedscope lists; the first one is opened.
  struct Key {
    WeightedStack::WeightKind what;
    std::uint32_t owner;  // thread or device
    auto operator<=>(const Key&) const = default;
  };

  void add(const WeightedStack& one);
  void frames(BufferedWriter& json);
  void profile(BufferedWriter& json, const Key& key, const Profile& profile);
  std::string title(const Key& key) const;

  EventResolver& shown_;
  StackTree tree_;
  std::map<Key, Profile> profiles_;
  std::size_t stretches_ = 0;
  std::uint64_t left_out_ = 0;
};

void SpeedscopeWriter::add(const WeightedStack& one) {
  if (one.ns == 0) return;
  Profile& profile =
      profiles_[{one.what, one.what == WeightedStack::WeightKind::kGpu ? one.device : one.tid}];
  if (!profile.stretches.empty() && profile.stretches.back().stack == one.stack) {
    profile.stretches.back().ns += one.ns;
  } else if (stretches_ < kMaxStretches) {
    profile.stretches.push_back({one.stack, one.ns});
    ++stretches_;
  } else {
    ++left_out_;
    return;
  }
  profile.total_ns += one.ns;
}

std::string SpeedscopeWriter::title(const Key& key) const {
  switch (key.what) {
    case WeightedStack::WeightKind::kOnCpu:
      return "CPU, " + thread_label(shown_.prescan(), key.owner);
    case WeightedStack::WeightKind::kBlocked:
      return "blocked, " + thread_label(shown_.prescan(), key.owner);
    case WeightedStack::WeightKind::kOperator:
      return "operators, " + thread_label(shown_.prescan(), key.owner);
    case WeightedStack::WeightKind::kGpu:
      return fmt::format("GPU {}{}", key.owner, shown_.has_simulated_gpu() ? " (simulated)" : "");
  }
  return {};
}

void SpeedscopeWriter::frames(BufferedWriter& json) {
  json.text("\"shared\":{\"frames\":[");
  for (StackTree::Entry entry = 0; entry < tree_.entries(); ++entry) {
    const StackTree::EntryInfo& line = tree_.line(entry);
    json.text(entry == 0 ? "\n{\"name\":" : ",\n{\"name\":").string(line.name);
    if (!line.file.empty()) json.text(",\"file\":").string(line.file);
    json.reserve(64);
    if (line.line != 0) json.raw(",\"line\":").number(line.line);
    json.raw("}");
  }
  json.text("]}");
}

void SpeedscopeWriter::profile(BufferedWriter& json, const Key& key, const Profile& profile) {
  json.text("{\"type\":\"sampled\",\"name\":").string(title(key)).reserve(128);
  json.raw(",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":").number(profile.total_ns);
  json.raw(",\"samples\":[");
  bool first = true;
  for (const WeightedSample& stretch : profile.stretches) {
    const std::vector<StackTree::Entry>& path = tree_.path(stretch.stack);
    json.reserve(32 + 12 * path.size());
    json.raw(first ? "\n[" : ",\n[");
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (i != 0) json.raw(",");
      json.number(path[i]);
    }
    json.raw("]");
    first = false;
  }
  json.text("],\n\"weights\":[");
  first = true;
  for (const WeightedSample& stretch : profile.stretches) {
    json.reserve(32);
    if (!first) json.raw(",");
    json.number(stretch.ns);
    first = false;
  }
  json.text("]}");
}

void SpeedscopeWriter::write(BufferedWriter& json) {
  const FileRequest& request = shown_.request();
  json.text("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":");
  json.string("gpuprof " + request.session.options.version).text(",\n\"name\":");
  json.string(request.worker).text(",\n\"activeProfileIndex\":0,\n");
  frames(json);
  json.text(",\n\"profiles\":[\n");
  bool first = true;
  for (const auto& [key, one] : profiles_) {
    if (!first) json.text(",\n");
    profile(json, key, one);
    first = false;
  }
  json.text("]}\n");
}

}  // namespace

support::Result<WrittenFile> write_speedscope(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  SpeedscopeWriter speedscope(*shown);
  GPUPROF_CHECK(speedscope.read());
  GPUPROF_TRY(bytes, write_text_file(request.path, request.uncompressed,
                                     [&](BufferedWriter& json) { speedscope.write(json); }));
  WrittenFile written = shown->make_written_file("speedscope", bytes);
  if (const std::uint64_t omitted = speedscope.left_out(); omitted != 0)
    written.missing.push_back(omitted == 1
                                  ? fmt::format(messages::missing::kNotInSpeedscopeOne, omitted)
                                  : fmt::format(messages::missing::kNotInSpeedscopeMany, omitted));
  return written;
}

}  // namespace gpuprof::exporter
