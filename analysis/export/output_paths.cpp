// SPDX-License-Identifier: Apache-2.0
//
// File names and their staging.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/output_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "analysis/messages/export_files.hpp"
#include "support/io/files.hpp"
#include "support/io/signal_cleanup.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kGzipSuffix = ".gz";
constexpr std::uint64_t kSecondNs = 1'000'000'000;

/// A text put into a name must not change folders, and the name is one line that no terminal obeys.
std::string sanitize_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t bytes = support::utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool control =
        first < ' ' || first == 0x7f ||
        (first == 0xc2 && bytes == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (bytes == 0 || control || first == '/') {
      name += '_';
    } else {
      name += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return name;
}

support::Result<std::string> environment_part(const std::string& pattern, std::size_t& at) {
  const std::size_t close = pattern.find('}', at);
  if (at + 1 >= pattern.size() || pattern[at + 1] != '{' || close == std::string::npos)
    return support::error(fmt::format(messages::export_files::kPatternWithoutVariable, pattern));
  const std::string name = pattern.substr(at + 2, close - at - 2);
  at = close;
  const char* const value = std::getenv(name.c_str());
  return sanitize_name(value == nullptr ? "" : value);
}

/// Process and, after an exec, which of its programs: what viewers list.
std::string output_label(const OutputNameFields& parts) {
  std::string label = worker_name(parts.host, parts.pid);
  if (parts.exec_index != 0) label += fmt::format("-{}", parts.exec_index + 1);
  // xprof joins hosts by commas; a colon stands before a port.
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == ':' || c == ','; }, '_');
  return label;
}

/// Local time of the window's begin as xprof's own folders have it, and the span: two windows may
/// begin within a second. The same for all processes of a window.
std::string profile_directory_name(const model::Window& window) {
  const auto seconds = static_cast<time_t>(window.stamp_real_ns / kSecondNs);
  tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y_%m_%d_%H_%M_%S", &local);
  return fmt::format("{}_{:04}", text.data(), window.index + 1);
}

/// Whole path of a file in the output folder.
std::string path_in_folder(const std::string& output, const Format& format,
                           const OutputNameFields& parts) {
  const model::Window& window = parts.window;
  switch (format.layout) {
    case Layout::kProfilePlugin:
      return fmt::format("{}/plugins/profile/{}/{}{}", output, profile_directory_name(window),
                         output_label(parts), format.suffix);
    case Layout::kScalars:
      // Of one run the reader takes the files by their names' order: the later span comes later.
      return fmt::format("{}/scalars/{}/events.out.tfevents.{:010}.{}.{}.{:04}", output,
                         output_label(parts), window.stamp_real_ns / kSecondNs,
                         sanitize_name(parts.host), parts.pid, window.index + 1);
    case Layout::kFlat:
      break;
  }
  const std::string folder = format.folder.empty() ? output
                                                   : fmt::format("{}/{}/span_{:04}", output,
                                                                 format.folder, window.index + 1);
  // The viewers list the images of a process as spans of one worker.
  return fmt::format("{}/{}.{}{}", folder, worker_name(parts.host, parts.pid),
                     timestamp_text(window.stamp_real_ns + parts.exec_index), format.suffix);
}

support::Error exists_already(const std::string& path) {
  return support::error(fmt::format(messages::export_files::kFileExists, path));
}

support::Result<void> rename_new(const std::string& from, const std::string& to, bool force) {
  if (!force) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EEXIST) return exists_already(to);
    // File systems without the flag: the look before writing has to do.
    if (errno != EINVAL && errno != ENOSYS)
      return support::error(
          fmt::format(messages::export_files::kCannotRename, to, std::strerror(errno)));
  }
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return support::error(
      fmt::format(messages::export_files::kCannotRename, to, std::strerror(errno)));
}

}  // namespace

support::Result<std::string> expand_pattern(const std::string& pattern, const std::string& host,
                                            std::uint32_t pid, std::uint32_t span,
                                            const std::string& rank) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    const char what = ++i < pattern.size() ? pattern[i] : '\0';
    switch (what) {
      case 'h':
        out += sanitize_name(host);
        break;
      case 'p':
        out += std::to_string(pid);
        break;
      case 'n':
        out += fmt::format("{:04}", span);
        break;
      case 'r':
        out += rank.empty() ? "norank" : sanitize_name(rank);
        break;
      case '%':
        out += '%';
        break;
      case 'q': {
        GPUPROF_TRY(value, environment_part(pattern, i));
        out += value;
        break;
      }
      default:
        return support::error(fmt::format(messages::export_files::kUnknownPlaceholder, pattern,
                                          what == '\0' ? ' ' : what));
    }
  }
  return out;
}

std::string worker_name(const std::string& host, std::uint32_t pid) {
  return fmt::format("{}_{}", sanitize_name(host), pid);
}

std::string timestamp_text(std::uint64_t real_ns) { return fmt::format("{:019}", real_ns); }

bool pattern_uses_rank(const recording::SessionOptions& options) {
  return options.output_is_pattern && options.output.find("%r") != std::string::npos;
}

bool is_uncompressed(const std::string& path) { return !path.ends_with(kGzipSuffix); }

support::Result<std::string> file_path(const recording::SessionOptions& options,
                                       const Format& format, const OutputNameFields& parts) {
  if (!options.output_is_pattern) return path_in_folder(options.output, format, parts);
  std::string stem = options.output;
  // Another format's ending gives way to this one's.
  const std::string given(match_format_suffix(stem));
  const bool own = given == format.suffix || given == uncompressed_suffix(format.suffix);
  const std::string suffix(own ? std::string_view(given) : format.suffix);
  stem.resize(stem.size() - given.size());
  const auto says = [&](const char* what) { return stem.find(what) != std::string::npos; };
  const bool per_process = says("%p") || says("%r"), per_window = says("%n");
  GPUPROF_TRY(path,
              expand_pattern(stem, parts.host, parts.pid, parts.window.index + 1, parts.rank));
  // A pattern that cannot tell files apart gets what it lacks.
  if (!per_process && parts.many_processes) path += fmt::format("_{}", parts.pid);
  if (parts.exec_index != 0) path += fmt::format("-{}", parts.exec_index + 1);
  if (!per_window && (given.empty() || parts.window.index != 0))
    path += "." + timestamp_text(parts.window.stamp_real_ns + parts.exec_index);
  // Two formats of one suffix would have one name.
  if (options.formats.size() > 1 && !format.folder.empty()) {
    const std::filesystem::path file(path);
    path = (file.parent_path() / format.folder / file.filename()).string();
  }
  return path + suffix;
}

StagedFiles::~StagedFiles() {
  for (std::size_t i = published_; i < entries_.size(); ++i) {
    ::unlink(entries_[i].temporary.c_str());
    support::cancel_cleanup(entries_[i].temporary);
  }
  support::remove_if_empty(created_directories_);
  for (const std::string& folder : created_directories_) support::cancel_cleanup(folder);
}

support::Result<std::string> StagedFiles::add(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) {
    GPUPROF_TRY(made, support::create_folders(folder.string()));
    support::cleanup_if_empty(made);
    created_directories_.insert(created_directories_.end(), made.begin(), made.end());
  }
  const bool twice = std::any_of(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.path == path; });
  if (twice) return support::error(fmt::format(messages::export_files::kTwoFilesOfOneName, path));
  GPUPROF_CHECK(support::check_replaceable(path));
  if (!force_ && fs::exists(path, failed)) return exists_already(path);
  // Not a name that any viewer would take for a trace.
  // One daemon may serve two sessions with one name.
  static std::atomic<unsigned> counter{0};
  const std::string end = fmt::format(".{}-{}.part", ::getpid(), ++counter);
  const std::string name = fs::path(path).filename().string();
  const std::string temporary = (folder / (name.substr(0, NAME_MAX - end.size()) + end)).string();
  ::unlink(temporary.c_str());
  support::create_with_cleanup([&] { return temporary; });
  entries_.push_back({temporary, path});
  return temporary;
}

support::Result<void> StagedFiles::publish() {
  for (; published_ < entries_.size(); ++published_) {
    const Entry& entry = entries_[published_];
    GPUPROF_CHECK(rename_new(entry.temporary, entry.path, force_));
    support::cancel_cleanup(entry.temporary);
  }
  return {};
}

}  // namespace gpuprof::exporter
