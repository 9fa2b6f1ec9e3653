// SPDX-License-Identifier: Apache-2.0
//
// Which processes get a file.
//
// Context:  daemon; pure
// Owns:     nothing
#include "daemon/session/processes/process_selection.hpp"

#include <algorithm>
#include <tuple>

namespace gpuprof::session {
namespace {

/// Its first image. Of several processes that had the number, one after another, the last that came
/// before the child.
const Candidate* parent_of(const std::vector<Candidate>& all, const Candidate& child) {
  const auto child_at = static_cast<std::size_t>(&child - all.data());
  const Candidate* found = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].pid != child.ppid || all[i].pid == child.pid) continue;
    if (found == nullptr || (i < child_at && all[i].id() != found->id())) found = &all[i];
  }
  return found;
}

bool is_child(const std::vector<Candidate>& all, const Candidate& one, const Candidate& parent) {
  const Candidate* const found = parent_of(all, one);
  return found != nullptr && found->id() == parent.id();
}

/// Operators of a loader's worker are those of another process's data.
bool ran_operators(const Candidate& one) { return one.operators != 0 && !one.serves; }

enum Use { kNone, kInitialised, kAndHasSteps, kWorked };

Use use_of(const Candidate& one) {
  if (one.gpu) return kWorked;
  if (!one.cuda) return kNone;
  return one.operators + one.steps + one.ranges != 0 ? kAndHasSteps : kInitialised;
}

/// What counts as using CUDA in this session.
Use most_use(const std::vector<Candidate>& all) {
  Use most = kNone;
  for (const Candidate& one : all) most = std::max(most, use_of(one));
  // A launcher counts the devices of ranks that work on the CPU.
  const bool elsewhere = std::any_of(all.begin(), all.end(), ran_operators);
  return most == kInitialised && elsewhere ? kNone : most;
}

bool qualifies(const std::vector<Candidate>& all, const Candidate& one) {
  const Use most = most_use(all);
  const auto used = [most](const Candidate& c) { return most != kNone && use_of(c) == most; };
  if (used(one) || ran_operators(one)) return true;
  if (one.serves) return false;
  if (one.steps == 0 && one.ranges == 0) return false;
  const Candidate* parent = parent_of(all, one);
  return parent == nullptr || !used(*parent);
}

/// One of those that a launcher made, not what such a one started.
bool is_rank(const std::vector<Candidate>& all, const Candidate& one) {
  const Candidate* parent = parent_of(all, one);
  return !one.rank.empty() && (parent == nullptr || parent->rank != one.rank);
}

/// Of a job's script, which Slurm has numbered, the ranks that MPI made in it are none.
bool same_launcher(const Candidate& one, const Candidate& other) {
  return one.rank.substr(0, one.rank.find('=')) == other.rank.substr(0, other.rank.find('='));
}

/// Not CPU time: what a process did before it became the program (a launcher, a shell) is not the
/// program, however much it was.
auto rank_key(const Candidate& c) {
  return std::tuple(c.gpu, c.cuda, c.operators + c.steps + c.ranges != 0);
}

/// Left something that only its own file can show.
bool did_work(const Candidate& one) {
  return one.gpu || ran_operators(one) || one.steps + one.ranges != 0;
}

/// Of several images of one process the best; of equals the last.
std::vector<std::size_t> best_images(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto same = std::find_if(best.begin(), best.end(), [&](std::size_t at) {
      return candidates[at].id() == candidates[i].id();
    });
    if (same == best.end())
      best.push_back(i);
    else if (rank_key(candidates[i]) >= rank_key(candidates[*same]))
      *same = i;
  }
  return best;
}

}  // namespace

std::vector<std::size_t> select_processes(const std::vector<Candidate>& candidates, bool all) {
  const std::vector<std::size_t> images = best_images(candidates);
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool best = std::find(images.begin(), images.end(), i) != images.end();
    const bool good = qualifies(candidates, candidates[i]);
    const bool wanted = good || all || candidates[i].requested;
    if (best ? wanted : good && did_work(candidates[i])) selected.push_back(i);
  }
  if (!selected.empty() || images.empty()) return selected;
  const auto best = std::max_element(images.begin(), images.end(), [&](auto a, auto b) {
    const Candidate &left = candidates[a], &right = candidates[b];
    return std::tuple(left.cpu_ns, left.samples, a) < std::tuple(right.cpu_ns, right.samples, b);
  });
  if (!is_rank(candidates, candidates[*best])) return {*best};
  for (const std::size_t i : images)
    if (is_rank(candidates, candidates[i]) && same_launcher(candidates[i], candidates[*best]))
      selected.push_back(i);
  std::sort(selected.begin(), selected.end());
  return selected;
}

std::string role_of(const std::vector<Candidate>& candidates,
                    const std::vector<std::size_t>& selected, std::size_t index) {
  const Candidate& one = candidates[index];
  bool launcher = false, helper = false;
  for (const std::size_t i : selected) {
    if (i == index) return "traced";
    const Candidate& traced = candidates[i];
    launcher = launcher || is_child(candidates, traced, one) || traced.id() == one.id();
    helper = helper || is_child(candidates, one, traced);
  }
  return launcher ? "launcher" : helper || one.serves ? "helper" : "quiet";
}

}  // namespace gpuprof::session
