// SPDX-License-Identifier: Apache-2.0
//
// All data of a comparison's page, in the order docs/report-page.md lists them.
//
// Context:  cli
#include "analysis/report/diff_page/diff_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/diff_findings.hpp"
#include "analysis/report/diff/output/findings.hpp"
#include "analysis/report/diff/significance/repeated_pairs.hpp"
#include "analysis/report/diff_page/diff_sections.hpp"
#include "analysis/report/page/page_file.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

std::string verdict(std::size_t findings) {
  if (findings == 0) return messages::diff_findings::kNoSignificantChange;
  return support::count_with_unit(findings, "significant change", "significant changes");
}

void write_common(DiffSectionContext& part) {
  part.json.array();
  for (const std::string& message :
       common_shift_messages(part.process.host, "operators", part.diff.limits))
    part.json.text(message);
  for (const std::string& message :
       common_shift_messages(part.process.gpu, "kernels and copies", part.diff.limits))
    part.json.text(message);
  part.json.end_array();
}

template <typename Write>
void member(DiffSectionContext& part, std::string_view key, const Write& write) {
  part.json.key(key);
  write(part);
}

void write_process(PageJson& json, const Diff& diff, const ProcessDiff& process, std::size_t rows) {
  std::vector<std::string> left_out;
  DiffSectionContext part{json, diff, process, rows, left_out};
  const auto sides = {describe_recording(process.before, process.by_step),
                      describe_recording(process.after, process.by_step)};
  json.object().key("name").text(process_name(process));
  json.key("title").text(fmt::format("{} → {}", diff.before, diff.after));
  json.key("command").text(fmt::format("{} → {}", diff.before, diff.after));
  json.key("simulated").flag(process.before.simulated && process.after.simulated);
  json.key("by_step").flag(process.by_step);
  json.key("verdict").text(verdict(significant_findings(process, diff.pairs()).size()));
  json.key("sides").texts(std::vector<std::string>(sides));
  json.key("pairs").texts(pairs_messages(diff));
  member(part, "claims", write_findings);
  member(part, "seen_once", write_unconfirmed);
  member(part, "common", write_common);
  json.key("notes").array();
  for (const auto* messages : {&process.caveats, &process.notes})
    for (const std::string& message : *messages) json.text(message);
  json.end_array();
  member(part, "curves", write_curves);
  member(part, "metrics", write_metrics);
  member(part, "operators", write_operators);
  member(part, "kernels", write_gpu_work);
  member(part, "memory", write_memory);
  member(part, "environment", write_environment);
  member(part, "limits", write_limits);
  json.end_object();
}

}  // namespace

std::string process_name(const ProcessDiff& process) {
  if (process.after.rank >= 0) return fmt::format("rank {}", process.after.rank);
  return fmt::format("process {} and process {}", process.before.pid, process.after.pid);
}

std::string diff_page_data(const Diff& diff, const DiffPageRequest& request) {
  constexpr std::size_t kMinRows = 100;
  const std::size_t processes = std::max<std::size_t>(diff.processes.size(), 1);
  PageJson json;
  json.object().key("schema").number(1u).key("version").text(request.version);
  json.key("source").text(fmt::format("{} and {}", diff.before, diff.after));
  json.key("simulated").flag(diff.simulated).key("holds").texts(request.held_conditions);
  json.key("ranks");
  write_ranks(json, diff);
  json.key("processes").array();
  for (const ProcessDiff& process : diff.processes)
    write_process(json, diff, process, std::max(request.rows / processes, kMinRows));
  json.end_array().end_object();
  return std::string(json.view());
}

support::Result<std::uint64_t> write_diff_page(const Diff& diff, const DiffPageRequest& request) {
  GPUPROF_CHECK(page::check_page_path(request.path, request.force));
  return page::write_page_file(request.path, request.force, page::PageKind::kDiff,
                               diff_page_data(diff, request));
}

}  // namespace gpuprof::report::diff
