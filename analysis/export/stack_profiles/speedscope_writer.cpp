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

namespace gpuprof::exporter {
namespace {

class Speedscope {
 public:
  explicit Speedscope(Shown& shown) : shown_(shown) {}

  support::Result<void> read() {
    return read_stacked(shown_, tree_, {}, [this](const Stacked& one) { add(one); });
  }
  void write(JsonText& json);
  std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kMaxStretches = 4'000'000;
  struct Stretch {
    StackTree::Node stack;
    std::uint64_t ns;
  };
  struct Profile {
    std::vector<Stretch> stretches;  // in the order they came
    std::uint64_t total_ns = 0;
  };
  /// What speedscope lists; the first one is opened.
  struct Key {
    Stacked::What what;
    std::uint32_t owner;  // thread or device
    auto operator<=>(const Key&) const = default;
  };

  void add(const Stacked& one);
  void frames(JsonText& json);
  void profile(JsonText& json, const Key& key, const Profile& profile);
  std::string title(const Key& key) const;

  Shown& shown_;
  StackTree tree_;
  std::map<Key, Profile> profiles_;
  std::size_t stretches_ = 0;
  std::uint64_t left_out_ = 0;
};

void Speedscope::add(const Stacked& one) {
  if (one.ns == 0) return;
  Profile& profile = profiles_[{one.what, one.what == Stacked::What::kGpu ? one.device : one.tid}];
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

std::string Speedscope::title(const Key& key) const {
  switch (key.what) {
    case Stacked::What::kCpu:
      return "CPU, " + thread_label(shown_.survey(), key.owner);
    case Stacked::What::kBlocked:
      return "blocked, " + thread_label(shown_.survey(), key.owner);
    case Stacked::What::kOperator:
      return "operators, " + thread_label(shown_.survey(), key.owner);
    case Stacked::What::kGpu:
      return fmt::format("GPU {}{}", key.owner, shown_.simulated() ? " (simulated)" : "");
  }
  return {};
}

void Speedscope::frames(JsonText& json) {
  json.text("\"shared\":{\"frames\":[");
  for (StackTree::Entry entry = 0; entry < tree_.entries(); ++entry) {
    const StackTree::Line& line = tree_.line(entry);
    json.text(entry == 0 ? "\n{\"name\":" : ",\n{\"name\":").string(line.name);
    if (!line.file.empty()) json.text(",\"file\":").string(line.file);
    json.need(64);
    if (line.line != 0) json.raw(",\"line\":").number(line.line);
    json.raw("}");
  }
  json.text("]}");
}

void Speedscope::profile(JsonText& json, const Key& key, const Profile& profile) {
  json.text("{\"type\":\"sampled\",\"name\":").string(title(key)).need(128);
  json.raw(",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":").number(profile.total_ns);
  json.raw(",\"samples\":[");
  bool first = true;
  for (const Stretch& stretch : profile.stretches) {
    const std::vector<StackTree::Entry>& path = tree_.path(stretch.stack);
    json.need(32 + 12 * path.size());
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
  for (const Stretch& stretch : profile.stretches) {
    json.need(32);
    if (!first) json.raw(",");
    json.number(stretch.ns);
    first = false;
  }
  json.text("]}");
}

void Speedscope::write(JsonText& json) {
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

support::Result<FileWritten> write_speedscope(const FileRequest& request) {
  GPUPROF_TRY(shown, Shown::open(request));
  Speedscope speedscope(*shown);
  GPUPROF_CHECK(speedscope.read());
  GPUPROF_TRY(bytes, write_text(request.path, request.plain,
                                [&](JsonText& json) { speedscope.write(json); }));
  FileWritten written = shown->written("speedscope", bytes);
  if (speedscope.left_out() != 0)
    written.missing.push_back(fmt::format(
        "{} samples, operators and GPU events are not in the speedscope file: it would be too "
        "large for a browser",
        speedscope.left_out()));
  return written;
}

}  // namespace gpuprof::exporter
