// SPDX-License-Identifier: Apache-2.0
//
// One recording, by `gpuprof capture`, and the files it made.
//
// Context:  serve
#include "serve/capture.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "daemon/client/serve_protocol.hpp"
#include "gpuprof/base/clock.hpp"
#include "recording/session/summary.hpp"
#include "recording/session/trace_categories.hpp"
#include "serve/capture_process.hpp"
#include "serve/messages/serve_capture.hpp"
#include "serve/work_folder.hpp"
#include "support/io/files.hpp"
#include "support/io/log.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

using support::error;

constexpr std::uint64_t kLookNs = 20'000'000;
/// What protobuf can carry in one message, less some room for the rest of it.
constexpr std::uint64_t kMaxResponse_bytes = (2ULL << 30) - (1 << 20);
constexpr char kSummaryName[] = "/summary.json";

std::vector<std::string> command_arguments(const CaptureCommand& command,
                                           const CaptureRequest& order, const std::string& folder) {
  std::vector<std::string> words = {command.gpuprof, "capture"};
  words.insert(words.end(), command.words.begin(), command.words.end());
  std::vector<std::string> pids;
  for (const std::uint32_t pid : order.pids) pids.push_back(std::to_string(pid));
  const std::vector<std::string> last = {"--quiet",
                                         "--format",
                                         client::kServeFormat,
                                         "--output",
                                         folder + "/files",
                                         "--summary-json",
                                         folder + kSummaryName,
                                         "--trace",
                                         recording::category_list(order.trace),
                                         "--duration",
                                         fmt::format("{}us", order.record_ns / 1000),
                                         "--pid",
                                         support::join(pids, ",")};
  words.insert(words.end(), last.begin(), last.end());
  // Launchers and helpers get none, as under `gpuprof run`.
  if (!command.named) words.emplace_back("--no-all-processes");
  return words;
}

/// The command's last sentence, without its name in front.
std::string last_error_line(const std::string& errors) {
  std::string last;
  for (const std::string& line : support::split(errors, '\n'))
    if (!line.empty()) last = line;
  const std::size_t colon = last.find(": ");
  const bool named = last.starts_with("gpuprof") && colon != std::string::npos;
  return named ? last.substr(colon + 2) : last;
}

support::Error exit_error(CaptureProcess& child) {
  const std::string message = last_error_line(child.stderr_text());
  if (!message.empty()) return error(message);
  return error(fmt::format(messages::serve_capture::kEndedSilently, child.wait_status()));
}

/// Read in one go; false: not readable.
bool read_file(const std::string& path, std::string* data) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (bytes < 0) return false;
  data->resize(static_cast<std::size_t>(bytes));
  file.seekg(0);
  return static_cast<bool>(file.read(data->data(), bytes));
}

support::Result<std::vector<CapturedFile>> read_files(recording::Summary summary) {
  std::sort(summary.files.begin(), summary.files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
  for (const recording::SummaryFile& file : summary.files) {
    if (!file.path.ends_with(client::kServeSuffix)) continue;
    paths.push_back(file.path);
    bytes += file.bytes;
  }
  if (bytes > kMaxResponse_bytes)
    return error(fmt::format(messages::serve_capture::kTooLarge, support::human_bytes(bytes)));
  const std::vector<std::string> names = response_file_names(paths);
  std::vector<CapturedFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files.push_back({names[i], {}});
    if (!read_file(paths[i], &files.back().data))
      return error(fmt::format(messages::serve_capture::kCannotRead, strerror(errno)));
  }
  return files;
}

/// To its end, early or not.
void follow(CaptureProcess& child, const std::function<bool()>& ends_early) {
  while (!child.wait_until_ended(kLookNs)) {
    if (!ends_early()) continue;
    spdlog::info(messages::serve_capture::kEndingEarly);
    child.interrupt();
    if (child.wait_until_ended(kMaxWriteTime_ns)) return;
    spdlog::warn(messages::serve_capture::kDoesNotEnd);
    return;
  }
}

}  // namespace

std::vector<std::string> response_file_names(const std::vector<std::string>& paths) {
  std::string suffix = client::kServeSuffix;
  if (paths.size() == 1) return {suffix.substr(1)};
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string worker = support::base_name(path);
    worker.resize(worker.size() - std::min(worker.size(), suffix.size()));
    for (char& c : worker)
      if (!isalnum(static_cast<unsigned char>(c)) && strchr("._-", c) == nullptr) c = '_';
    std::string name = worker + suffix;
    for (int i = 2; std::find(names.begin(), names.end(), name) != names.end(); ++i)
      name = fmt::format("{}_{}{}", worker, i, suffix);
    names.push_back(name);
  }
  return names;
}

support::Result<std::vector<CapturedFile>> capture(const CaptureCommand& command,
                                                   const CaptureRequest& order,
                                                   const std::function<bool()>& ends_early) {
  GPUPROF_TRY(folder, WorkFolder::make());
  GPUPROF_TRY(child, CaptureProcess::start(command_arguments(command, order, folder.path()),
                                           folder.lock()));
  follow(child, ends_early);
  if (!child.wait_until_ended(0)) return error(messages::serve_capture::kTooSlow);
  std::string text;
  if (!read_file(folder.path() + kSummaryName, &text)) return exit_error(child);
  GPUPROF_TRY(summary, recording::from_json(text));
  const bool events = std::any_of(summary.files.begin(), summary.files.end(),
                                  [](const auto& file) { return file.events != 0; });
  if (events) return read_files(summary);
  if (summary.nothing || summary.failures.empty()) return std::vector<CapturedFile>();
  return error(summary.failures.front());
}

}  // namespace gpuprof::serve
