// SPDX-License-Identifier: Apache-2.0
//
// How far the reading of recordings is, on a terminal.
//
// Context:  cli
#include "cli/output/read_progress.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "cli/messages/session_output.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {

commands::ReportProgress make_read_progress(support::ProgressLine& line, const char* how_often) {
  commands::ReportProgress progress;
  progress.reading = [&line](std::uint64_t done, std::uint64_t total) {
    line.update(
        fmt::format(messages::session_output::kReading, done / 1'000'000, total / 1'000'000));
  };
  progress.counting = [&line, how_often,
                       read = std::make_shared<std::uint64_t>(0)](std::uint64_t events) {
    *read += events;
    line.update(
        fmt::format(messages::session_output::kCounting, support::human_count(*read), how_often));
  };
  return progress;
}

}  // namespace gpuprof::cli
