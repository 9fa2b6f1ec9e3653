// SPDX-License-Identifier: Apache-2.0
//
// What a session, a trace or a folder of either comes to: `gpuprof report`.
//
// Context:  cli
// Owns:     nothing
// Promises: what is named is only read
// Not here: the tables (analysis/report), reading traces (analysis/import)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/recording_source.hpp"
#include "support/result.hpp"

namespace gpuprof::report {
struct Report;
struct ReportOptions;
}  // namespace gpuprof::report

namespace gpuprof::commands {

struct ReportRequest {
  std::vector<std::string> inputs;  // a session's folder, or trace files and folders of them
  std::string by;                   // a table; empty: the overview
  bool by_input_shape = false;
  std::uint32_t by_stack = 0;
  std::string sort_by;
  std::vector<std::string> columns;
  std::optional<std::uint64_t> row_limit;
  std::optional<std::uint32_t> rank;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> steps;  // labels, first and last
  bool json = false, csv = false;
  bool advice_only = false;
  std::vector<std::string> fail_on;  // rules of advice, or "any"
  std::size_t width = 0;             // of the terminal; 0: none
};

struct ReportProgress {
  SourceProgress reading;                              // trace files
  std::function<void(std::uint64_t events)> counting;  // events just read
};

struct PrintedReport {
  std::string text;
  std::vector<std::string> failed;  // rules of fail_on that gave advice
  std::vector<std::string> notes;   // sentences: how it was read, where the text does not say it
};

/// Names --fail-on takes besides "any".
std::vector<std::string> advice_rules();
/// Names --by takes.
std::vector<std::string> report_tables();

/// Reads what is named.
///
/// Errors: one sentence: nothing there, nothing recorded, no such rank or step, simulated and real
/// GPUs in one input.
support::Result<report::Report> load_report(const std::vector<std::string>& inputs,
                                            const report::ReportOptions& options,
                                            const ReportProgress& progress);

/// The same of a source that is open.
///
/// @param windows  becomes those that the report is of
support::Result<report::Report> report_of(RecordingSource& source,
                                          const report::ReportOptions& options,
                                          const ReportProgress& progress,
                                          std::vector<model::Window>* windows);

/// The text to print, and what --fail-on has to say.
support::Result<PrintedReport> report_text(const ReportRequest& request,
                                           const ReportProgress& progress);

}  // namespace gpuprof::commands
