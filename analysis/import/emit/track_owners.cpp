// SPDX-License-Identifier: Apache-2.0
//
// Owners.
//
// Context:  cli through analysis/commands
#include "analysis/import/emit/track_owners.hpp"

#include <algorithm>

namespace gpuprof::importer {
namespace {

/// Of the votes of a row, so many for a second process are no mistake.
constexpr std::uint64_t kShareOfTen = 1;

std::uint64_t key_of(std::uint16_t row, std::uint32_t correlation) {
  return std::uint64_t{row} << 32 | correlation;
}

}  // namespace

TrackOwners::TrackOwners(FileContent& content) : content_(content), rows_(content.tracks) {
  find_hosts();
  hosts_of_.assign(rows_.size(), kNoProcess);
  settled_.assign(rows_.size(), false);
  shared_.assign(rows_.size(), false);
  votes_.assign(rows_.size(), std::vector<std::uint64_t>(hosts_.size(), 0));
  for (const std::uint16_t host : hosts_) hosts_of_[host] = host;
  for (std::uint16_t row = 0; row < rows_.size(); ++row)
    if (hosts_of_[row] == kNoProcess) assign_host(row);
}

/// Rows of processes; those of calls and waits belong to one of them.
void TrackOwners::find_hosts() {
  const auto add = [&](auto is_host) {
    for (std::uint16_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].host_events != 0 && is_host(rows_[row])) hosts_.push_back(row);
  };
  add([](const PidTrack& row) {
    return row.named_role != TrackRole::kProfilerOverhead && row.named_role != TrackRole::kApiCalls;
  });
  if (hosts_.empty()) add([](const PidTrack&) { return true; });
  if (hosts_.size() > 1) {
    // Python's collector of garbage has a row of its own, numbered after its process.
    std::vector<std::int64_t> pids;
    for (const std::uint16_t host : hosts_) pids.push_back(rows_[host].pid);
    std::erase_if(hosts_, [&](std::uint16_t host) {
      const std::int64_t of = rows_[host].pid >> kAscendPidShift;
      return rows_[host].name == "Python GC" &&
             std::find(pids.begin(), pids.end(), of) != pids.end();
    });
  }
  if (!hosts_.empty()) {
    sections_ = hosts_;
    std::sort(sections_.begin(), sections_.end(),
              [&](std::uint16_t a, std::uint16_t b) { return rows_[a].first < rows_[b].first; });
    for (std::size_t i = 1; i < sections_.size(); ++i)
      if (rows_[sections_[i]].first <= rows_[sections_[i - 1]].last) return sections_.clear();
    return;
  }
  // Work of devices alone still is somebody's: of one process for each label.
  std::vector<std::string> labels;
  for (const PidTrack& row : rows_)
    if (row.gpu_events != 0 && std::find(labels.begin(), labels.end(), row.label) == labels.end())
      labels.push_back(row.label);
  if (labels.empty()) labels.emplace_back();
  for (const std::string& label : labels) {
    hosts_.push_back(static_cast<std::uint16_t>(rows_.size()));
    PidTrack& host = rows_.emplace_back();
    host.label = label;
    host.name = label;
    host.host_events = 1;
  }
}

/// Whose a row is that is no process, where its name says so.
void TrackOwners::assign_host(std::uint16_t index) {
  const PidTrack& row = rows_[index];
  if (hosts_.size() == 1) {
    hosts_of_[index] = hosts_[0];
    settled_[index] = true;
    return;
  }
  std::vector<std::uint16_t> those;
  const std::int64_t of = row.pid >> kAscendPidShift;
  for (const std::uint16_t host : hosts_)
    if (of > 0 && rows_[host].pid == of && rows_[host].label == row.label) those.push_back(host);
  if (those.empty())
    for (const std::uint16_t host : hosts_)
      if (!row.label.empty() && rows_[host].label == row.label) those.push_back(host);
  if (those.empty() && row.gpu_events != 0) those = by_number(index);
  if (those.size() == 1) {
    hosts_of_[index] = those[0];
    settled_[index] = true;
    return;
  }
  // Waits and calls of whom nobody tells: of the process with most records.
  const std::vector<std::uint16_t>& among = those.empty() ? hosts_ : those;
  hosts_of_[index] =
      *std::max_element(among.begin(), among.end(), [&](std::uint16_t a, std::uint16_t b) {
        return rows_[a].host_events < rows_[b].host_events;
      });
  if (row.gpu_events != 0 && sections_.empty()) needs_votes_ = true;
}

/// Pids that were moved apart, each rank's by the same: the process lies between its own device
/// row and the next one.
std::vector<std::uint16_t> TrackOwners::by_number(std::uint16_t index) const {
  constexpr std::int64_t kDevices = 64;
  std::vector<std::int64_t> devices;
  for (const PidTrack& row : rows_)
    if (row.gpu_events != 0) devices.push_back(row.pid);
  std::sort(devices.begin(), devices.end());
  // Rows of devices that were not moved are all of the first numbers.
  if (devices.size() < 2 || devices.back() < kDevices) return {};
  std::vector<std::uint16_t> within;
  const auto next = std::upper_bound(devices.begin(), devices.end(), rows_[index].pid);
  for (const std::uint16_t host : hosts_) {
    const std::int64_t pid = rows_[host].pid;
    if (pid >= rows_[index].pid && (next == devices.end() || pid < *next)) within.push_back(host);
  }
  return within;
}

std::uint16_t TrackOwners::by_section(std::uint32_t sequence) const {
  std::uint16_t host = sections_.front();
  for (const std::uint16_t one : sections_)
    if (rows_[one].first <= sequence) host = one;
  return host;
}

void TrackOwners::vote(const ParsedEvent& r) {
  if (r.kind == ParsedKind::kCall && r.call.correlation != 0 && calls_kept_ < kMaxCalls) {
    ++calls_kept_;
    calls_[r.call.correlation].push_back({host_of(r.process), r.start_ns});
    return;
  }
  if (!is_gpu(r.kind) || settled_[r.process] || r.gpu.correlation == 0) return;
  const auto calls = calls_.find(r.gpu.correlation);
  if (calls == calls_.end()) return;
  std::uint16_t only = kNoProcess;
  bool has_several = false;
  for (const Call& call : calls->second) {
    if (call.start_ns > r.start_ns) continue;
    has_several = has_several || (only != kNoProcess && only != call.host);
    only = call.host;
  }
  if (only == kNoProcess || has_several) {
    auto& starts = starts_[key_of(r.process, r.gpu.correlation)];
    if (starts.size() < 64 && starts_.size() < kMaxCalls) starts.push_back(r.start_ns);
    return;
  }
  const auto at = std::find(hosts_.begin(), hosts_.end(), only) - hosts_.begin();
  if (at < static_cast<std::ptrdiff_t>(hosts_.size()))
    ++votes_[r.process][static_cast<std::size_t>(at)];
}

void TrackOwners::resolve_row(std::uint16_t row) {
  const std::vector<std::uint64_t>& votes = votes_[row];
  const auto most = std::max_element(votes.begin(), votes.end());
  std::uint64_t all = 0;
  for (const std::uint64_t count : votes) all += count;
  if (all == 0) {
    shared_[row] = true;
    return;
  }
  hosts_of_[row] = hosts_[static_cast<std::size_t>(most - votes.begin())];
  if ((all - *most) * 10 > all * kShareOfTen) shared_[row] = true;
}

void TrackOwners::count_votes() {
  std::vector<std::uint16_t> devices;
  for (std::uint16_t row = 0; row < rows_.size(); ++row)
    if (rows_[row].gpu_events != 0 && !settled_[row]) {
      resolve_row(row);
      devices.push_back(row);
    }
  for (auto& [key, starts] : starts_) std::sort(starts.begin(), starts.end());
  calls_.clear();
  // Nothing told them apart: as many devices as processes are each one's own, in their order.
  const bool none = std::all_of(devices.begin(), devices.end(), [&](std::uint16_t row) {
    return std::all_of(votes_[row].begin(), votes_[row].end(), [](auto n) { return n == 0; });
  });
  if (!none || devices.size() != hosts_.size()) return;
  std::sort(devices.begin(), devices.end(),
            [&](std::uint16_t a, std::uint16_t b) { return rows_[a].pid < rows_[b].pid; });
  std::vector<std::uint16_t> hosts = hosts_;
  std::sort(hosts.begin(), hosts.end(),
            [&](std::uint16_t a, std::uint16_t b) { return rows_[a].pid < rows_[b].pid; });
  for (std::size_t i = 0; i < devices.size(); ++i) {
    hosts_of_[devices[i]] = hosts[i];
    shared_[devices[i]] = false;
  }
}

std::span<const std::uint16_t> TrackOwners::candidates(const ParsedEvent& r) {
  const std::uint16_t own = !sections_.empty() && has_several() && !settled_[r.process]
                                ? by_section(r.sequence)
                                : host_of(r.process);
  const bool alone = settled_[r.process] && !rows_[r.process].label.empty();
  if (order_.empty() || order_.front() != own || alone != (order_.size() == 1)) {
    order_ = {own};
    for (const std::uint16_t host : hosts_)
      if (host != own && !alone) order_.push_back(host);
  }
  return order_;
}

TrackOwners::Position TrackOwners::position_of(const ParsedEvent& r) const {
  const auto found = starts_.find(key_of(r.process, r.gpu.correlation));
  if (found == starts_.end()) return {};
  const auto& starts = found->second;
  return {static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), r.start_ns) -
                                   starts.begin()),
          starts.size()};
}

}  // namespace gpuprof::importer
