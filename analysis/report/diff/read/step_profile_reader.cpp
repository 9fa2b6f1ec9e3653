// SPDX-License-Identifier: Apache-2.0
//
// From the spool of one process to a StepProfile.
//
// Context:  cli
#include "analysis/report/diff/read/step_profile_reader.hpp"

#include <algorithm>
#include <memory>

#include "analysis/export/export.hpp"
#include "analysis/export/labels/rank.hpp"
#include "analysis/report/diff/read/step_profile_sink.hpp"
#include "analysis/report/diff/significance/robust_stats.hpp"

namespace gpuprof::report::diff {
namespace {

/// Steps at the begin that took this much longer than the others do are warm-up: compilation, lazy
/// loading, caches. At most kMaxWarmUpShare of all.
constexpr double kWarmUpTimes = 1.25;
constexpr double kMaxWarmUpShare = 1.0 / 3;

std::size_t warm_up_of(const StepProfile& profile) {
  const std::vector<double>& lengths = profile.of(StepMeasure::kLength);
  const auto half = static_cast<std::ptrdiff_t>(lengths.size() / 2);
  const double usual = median({lengths.begin() + half, lengths.end()});
  const auto most = static_cast<std::size_t>(static_cast<double>(lengths.size()) * kMaxWarmUpShare);
  std::size_t cells = 0;
  while (cells < most && lengths[cells] > kWarmUpTimes * usual) ++cells;
  return cells;
}

void take_facts(const exporter::EventResolver& shown, StepProfile& profile) {
  const exporter::Prescan& prescan = shown.prescan();
  profile.program = prescan.exe;
  profile.command = prescan.command_line;
  profile.pid = prescan.pid;
  profile.simulated = profile.simulated || shown.has_simulated_gpu();
  for (const auto& [key, value] : prescan.facts) profile.facts[key] = value;
  if (const exporter::Rank rank = exporter::rank_of(prescan.facts); rank.known()) {
    profile.rank = static_cast<std::int64_t>(rank.rank);
    profile.world_size = static_cast<std::uint32_t>(rank.world_size);
  }
  for (const auto& [index, device] : prescan.devices) {
    const std::string name(prescan.names.text(device.name));
    const bool used = std::any_of(prescan.gpu_tracks.begin(), prescan.gpu_tracks.end(),
                                  [i = index](const auto& row) { return row.first == i; });
    if (used && std::find(profile.gpus.begin(), profile.gpus.end(), name) == profile.gpus.end())
      profile.gpus.push_back(name);
  }
  for (const std::string& message : shown.missing())
    exporter::merge_message(profile.missing, message);
}

support::Result<StepProfile> read(const spool::SessionView& session,
                                  const spool::ProcessEntry& process,
                                  const std::vector<model::Window>& windows,
                                  const ReadOptions& options, std::uint64_t slice_ns) {
  StepProfile profile;
  profile.host = session.host;
  profile.has_steps = slice_ns == 0;
  StepProfileSink sink(profile, slice_ns);
  for (const model::Window& window : windows) {
    const exporter::FileRequest request{session, window, process, "",
                                        "",      true,   0,       options.progress};
    GPUPROF_TRY(shown, exporter::EventResolver::open(request));
    take_facts(*shown, profile);
    sink.begin(*shown, profile.recorded_ns);
    GPUPROF_CHECK(shown->replay(sink));
    sink.end();
    profile.recorded_ns += window.end_ns - window.start_ns;
  }
  sink.finish();
  return profile;
}

}  // namespace

support::Result<StepProfile> read_step_profile(const spool::SessionView& session,
                                               const spool::ProcessEntry& process,
                                               const std::vector<model::Window>& windows,
                                               const ReadOptions& options) {
  if (!options.ignore_steps) {
    GPUPROF_TRY(profile, read(session, process, windows, options, 0));
    profile.warm_up = warm_up_of(profile);
    if (profile.steps != 0) return profile;
  }
  std::uint64_t recorded_ns = 0;
  for (const model::Window& window : windows) recorded_ns += window.end_ns - window.start_ns;
  return read(session, process, windows, options, recorded_ns / kSliceCount + 1);
}

}  // namespace gpuprof::report::diff
