// SPDX-License-Identifier: Apache-2.0
//
// Memory, how both were recorded, and what cannot be compared and why.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analysis/messages/diff_page.hpp"
#include "analysis/report/diff/output/findings.hpp"
#include "analysis/report/diff_page/diff_sections.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

/// @param both Memory was recorded before and after.
/// @param peak What is claimed of it; null: nothing ever is.
void write_memory_row(PageJson& json, bool both, const std::string& name, const MemoryDiff* peak,
                      std::uint64_t before, std::uint64_t after, std::string_view unit) {
  json.array().text(name).number(peak != nullptr && peak->significant ? 1u : 0u);
  json.number(peak != nullptr && peak->is_unconfirmed ? 1u : 0u).number(before).number(after);
  if (both)
    write_change(json, static_cast<double>(before), static_cast<double>(after));
  else
    json.null();
  json.text(unit).end_array();
}

void fact_row(PageJson& json, std::string_view what, const std::string& before,
              const std::string& after) {
  json.array().text(what).text(before).text(after).number(before == after ? 0u : 1u).end_array();
}

std::string number_or_none(std::int64_t value) {
  return value < 0 ? "none" : fmt::format("{}", value);
}

void fixed_rows(PageJson& json, const StepProfile& before, const StepProfile& after) {
  const auto row = [&](std::string_view what, const auto& of) {
    fact_row(json, what, of(before), of(after));
  };
  row("Recording", [](const StepProfile& profile) { return profile.given_name; });
  row("Program", [](const StepProfile& profile) { return profile.program; });
  row("Command", [](const StepProfile& profile) { return profile.command; });
  row("Host", [](const StepProfile& profile) { return profile.host; });
  row("Process id", [](const StepProfile& profile) { return fmt::format("{}", profile.pid); });
  row("Rank", [](const StepProfile& profile) { return number_or_none(profile.rank); });
  row("Ranks in the job", [](const StepProfile& profile) {
    return profile.world_size == 0 ? "none" : fmt::format("{}", profile.world_size);
  });
  row("GPUs in use", [](const StepProfile& profile) {
    return profile.gpus.empty() ? "none" : support::join(profile.gpus, ", ");
  });
  row("Simulated GPU", [](const StepProfile& profile) { return profile.simulated ? "yes" : "no"; });
  row("Steps", [](const StepProfile& profile) { return fmt::format("{}", profile.steps); });
  row("Warm-up steps", [](const StepProfile& profile) {
    return fmt::format("{}", std::min(profile.steps, profile.warm_up * profile.steps_per_cell));
  });
  row("Recorded time",
      [](const StepProfile& profile) { return support::human_duration(profile.recorded_ns); });
}

std::string fact(const StepProfile& profile, const std::string& key) {
  const auto at = profile.facts.find(key);
  return at == profile.facts.end() ? "" : at->second;
}

void group(PageJson& json, std::string_view title, const std::vector<std::string>& messages) {
  json.object().key("title").text(title).key("sentences").texts(messages).end_object();
}

/// What is there, but cannot be held against noise or against anything.
std::vector<std::string> undetectable_messages(const DiffSectionContext& part) {
  std::vector<std::string> out;
  const ProcessDiff& process = part.process;
  const auto has = [&process](bool on_gpu) {
    return std::any_of(process.names.begin(), process.names.end(),
                       [on_gpu](const NameDiff& row) { return row.on_gpu() == on_gpu; });
  };
  const auto say = [&](const CommonShift& common, std::string_view what, bool on_gpu) {
    if (is_undetectable(common))
      for (const std::string& message : common_shift_messages(common, what, part.diff.limits))
        out.push_back(message);
    else if (!common.known && has(on_gpu))
      out.push_back(on_gpu ? fmt::format(messages::diff_page::kTooFewLargeOnGpu, what)
                           : fmt::format(messages::diff_page::kTooFewLargeOnHost, what));
  };
  say(process.host, "operators", false);
  say(process.gpu, "kernels and copies", true);
  return out;
}

std::vector<std::string> unpaired_messages(const ProcessDiff& process) {
  std::vector<std::string> out;
  const auto count = [&process](Presence presence) {
    return static_cast<std::uint64_t>(
        std::count_if(process.names.begin(), process.names.end(),
                      [presence](const NameDiff& row) { return row.presence == presence; }));
  };
  if (const std::uint64_t gone = count(Presence::kGone); gone != 0)
    out.push_back(gone == 1 ? messages::diff_page::kGoneOne
                            : fmt::format(messages::diff_page::kGoneMany, gone));
  if (const std::uint64_t fresh = count(Presence::kNew); fresh != 0)
    out.push_back(fresh == 1 ? messages::diff_page::kNewOne
                             : fmt::format(messages::diff_page::kNewMany, fresh));
  return out;
}

}  // namespace

void write_memory(DiffSectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"name", "What", "text"},
                                       PageColumn{"significant", "Significant", "flag"},
                                       PageColumn{"seen_once", "Unconfirmed", "flag"},
                                       PageColumn{"before", "Before", "row"},
                                       PageColumn{"after", "After", "row"},
                                       PageColumn{"change", "Change", "change"}};
  PageJson& json = part.json;
  page::begin_table(json, "memory", "Memory of PyTorch's allocators", kColumns, "",
                    messages::diff_page::kMemory);
  const bool both = !part.process.before.memory.empty() && !part.process.after.memory.empty();
  for (const MemoryDiff& row : part.process.memory) {
    const std::string of = memory_name(row.device);
    const DeviceMemoryProfile &a = row.before, &b = row.after;
    write_memory_row(json, both, of + ", peak allocated", &row, a.peak_allocated_bytes,
                     b.peak_allocated_bytes, "bytes");
    write_memory_row(json, both, of + ", peak reserved", nullptr, a.peak_reserved_bytes,
                     b.peak_reserved_bytes, "bytes");
    write_memory_row(json, both, of + ", allocations", nullptr, a.allocations, b.allocations,
                     "count");
    write_memory_row(json, both, of + ", total allocated", nullptr, a.allocated_bytes,
                     b.allocated_bytes, "bytes");
  }
  page::end_table(json, 0);
}

void write_environment(DiffSectionContext& part) {
  static constexpr std::array kColumns{
      PageColumn{"what", "What", "text"}, PageColumn{"before", "Before", "name"},
      PageColumn{"after", "After", "name"}, PageColumn{"differs", "Differs", "flag"}};
  const StepProfile &before = part.process.before, &after = part.process.after;
  page::begin_table(part.json, "environment", "How both were recorded", kColumns, "");
  fixed_rows(part.json, before, after);
  std::set<std::string> keys;
  for (const StepProfile* profile : {&before, &after})
    for (const auto& [key, value] : profile->facts) keys.insert(key);
  for (const std::string& key : keys) fact_row(part.json, key, fact(before, key), fact(after, key));
  page::end_table(part.json, 0);
}

void write_limits(DiffSectionContext& part) {
  const ProcessDiff& process = part.process;
  std::vector<std::string> compared = part.diff.notes;
  for (const auto& messages :
       {process.caveats, undetectable_messages(part), unpaired_messages(process)})
    compared.insert(compared.end(), messages.begin(), messages.end());
  part.json.array();
  group(part.json, messages::diff_page::kNotCompared, compared);
  const auto with_reading = [](std::vector<std::string> missing, const ImportSummary& reading) {
    missing.insert(missing.end(), reading.messages.begin(), reading.messages.end());
    return missing;
  };
  group(part.json, messages::diff_page::kMissingBefore,
        with_reading(process.before.missing, part.diff.before_reading));
  group(part.json, messages::diff_page::kMissingAfter,
        with_reading(process.after.missing, part.diff.after_reading));
  group(part.json, messages::diff_page::kNotInPage, part.left_out);
  part.json.end_array();
}

}  // namespace gpuprof::report::diff
