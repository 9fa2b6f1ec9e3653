// SPDX-License-Identifier: Apache-2.0
//
// Two sessions compared, process by process.
//
// Context:  cli
#include "analysis/report/diff/make_diff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/diff.hpp"
#include "analysis/report/diff/read/step_profile_reader.hpp"
#include "analysis/report/diff/significance/compare.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

using support::error;

struct Read {
  StepProfile profile;
  const DiffInput* input;
  const spool::ProcessEntry* process;
};

bool is_selected(const spool::SessionView& session, const spool::ProcessEntry& process) {
  return session.selected.empty() || std::find(session.selected.begin(), session.selected.end(),
                                               process.pid) != session.selected.end();
}

bool has_gpu(const StepProfile& profile) {
  return std::any_of(profile.names.begin(), profile.names.end(),
                     [](const NameRow& row) { return row.kind >= NameKind::kKernel; });
}

support::Result<std::vector<Read>> read_all(const DiffInput& input, const DiffOptions& options) {
  std::vector<Read> all;
  bool other_ranks = false;
  for (const spool::ProcessEntry& process : input.session.processes) {
    if (!is_selected(input.session, process)) continue;
    GPUPROF_TRY(profile, read_step_profile(input.session, process, input.windows,
                                           {false, options.progress}));
    profile.given_name = input.named;
    if (profile.names.empty() && profile.steps == 0) continue;
    if (options.rank && profile.rank != static_cast<std::int64_t>(*options.rank)) {
      other_ranks = true;
      continue;
    }
    all.push_back({std::move(profile), &input, &process});
  }
  if (other_ranks && all.empty())
    return error(
        fmt::format(messages::diff::kNoRank, support::in_quotes(input.named), *options.rank),
        kExitCannotCompare);
  if (all.empty())
    return error(fmt::format(messages::diff::kNothingToCompare, support::in_quotes(input.named)),
                 kExitCannotCompare);
  std::stable_sort(all.begin(), all.end(),
                   [](const Read& a, const Read& b) { return a.profile.rank < b.profile.rank; });
  return all;
}

/// Figures of a simulated GPU and of a real one say nothing about each other.
support::Result<void> check_same_kind(const std::vector<Read>& before,
                                      const std::vector<Read>& after) {
  const auto any = [](const std::vector<Read>& reads, bool simulated) {
    return std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
      return has_gpu(read.profile) && read.profile.simulated == simulated;
    });
  };
  const bool simulated = any(before, true) || any(after, true);
  if (simulated && (any(before, false) || any(after, false)))
    return error(fmt::format(messages::diff::kSimulatedAndReal,
                             support::in_quotes(any(before, true) ? before.front().input->named
                                                                  : after.front().input->named),
                             support::in_quotes(any(before, true) ? after.front().input->named
                                                                  : before.front().input->named)),
                 kExitCannotCompare);
  return {};
}

std::string called(const StepProfile& profile) {
  return profile.rank >= 0 ? fmt::format("rank {}", profile.rank)
                           : fmt::format("process {}", profile.pid);
}

/// Index of the counterpart of `read`, or the number of all.
std::size_t counterpart(const std::vector<Read>& before, std::size_t at,
                        const std::vector<Read>& after) {
  if (before.size() == 1 && after.size() == 1) return 0;
  const StepProfile& profile = before[at].profile;
  for (std::size_t i = 0; profile.rank >= 0 && i < after.size(); ++i)
    if (after[i].profile.rank == profile.rank) return i;
  const bool by_place = profile.rank < 0 && at < after.size() && after[at].profile.rank < 0;
  return by_place ? at : after.size();
}

support::Result<ProcessDiff> compare_two(Read& before, Read& after, const DiffOptions& options) {
  if (before.profile.has_steps != after.profile.has_steps) {
    Read& stepped = before.profile.has_steps ? before : after;
    GPUPROF_TRY(sliced, read_step_profile(stepped.input->session, *stepped.process,
                                          stepped.input->windows, {true, options.progress}));
    sliced.given_name = stepped.input->named;
    sliced.steps = stepped.profile.steps;
    stepped.profile = std::move(sliced);
  }
  return compare(std::move(before.profile), std::move(after.profile), options.limits);
}

}  // namespace

support::Result<Diff> make_diff(const DiffInput& before, const DiffInput& after,
                                const DiffOptions& options) {
  GPUPROF_TRY(old_ones, read_all(before, options));
  GPUPROF_TRY(new_ones, read_all(after, options));
  GPUPROF_CHECK(check_same_kind(old_ones, new_ones));
  Diff diff;
  diff.before = before.named;
  diff.after = after.named;
  diff.limits = options.limits;
  diff.before_reading = before.reading;
  diff.after_reading = after.reading;
  std::vector<bool> compared(new_ones.size(), false);
  std::vector<std::string> alone_before, alone_after;
  for (std::size_t i = 0; i < old_ones.size(); ++i) {
    const std::size_t other = counterpart(old_ones, i, new_ones);
    if (other == new_ones.size()) {
      alone_before.push_back(called(old_ones[i].profile));
      continue;
    }
    compared[other] = true;
    diff.simulated =
        diff.simulated || (old_ones[i].profile.simulated && has_gpu(old_ones[i].profile));
    GPUPROF_TRY(process, compare_two(old_ones[i], new_ones[other], options));
    diff.processes.push_back(std::move(process));
  }
  for (std::size_t i = 0; i < new_ones.size(); ++i)
    if (!compared[i]) alone_after.push_back(called(new_ones[i].profile));
  if (diff.processes.empty())
    return error(fmt::format(messages::diff::kNoCounterparts, support::in_quotes(diff.before),
                             support::in_quotes(diff.after), support::join_with_and(alone_before),
                             support::join_with_and(alone_after)),
                 kExitCannotCompare);
  if (!alone_before.empty())
    diff.notes.push_back(
        fmt::format(messages::diff::kOnlyBefore, support::join_with_and(alone_before)));
  if (!alone_after.empty())
    diff.notes.push_back(
        fmt::format(messages::diff::kOnlyAfter, support::join_with_and(alone_after)));
  return diff;
}

}  // namespace gpuprof::report::diff
