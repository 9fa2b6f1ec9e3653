// SPDX-License-Identifier: Apache-2.0
//
// detect_input(): the first bytes of files, and how folders of traces are laid out.
//
// Context:  cli through analysis/commands
#include "analysis/import/detect_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "analysis/import/json/decompressor.hpp"
#include "analysis/messages/import_files.hpp"
#include "recording/messages/spool.hpp"
#include "support/text/text.hpp"

namespace gpuprof::importer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSpoolPrefix = ".gpuprof-spool-";
constexpr std::size_t kMaxEntries = 100'000;

std::string first_bytes(const std::string& path) {
  std::array<char, 4096> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return std::string(bytes.data(),
                     static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
}

/// The beginning of the text, behind blanks, whatever gzip holds before it; empty: none near.
std::string first_characters(const std::string& path) {
  constexpr std::size_t kMaxBlanks = 64u << 20;
  Decompressor text(path, base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  std::string block(4096, '\0');
  bool first = true;
  for (std::size_t seen = 0; seen < kMaxBlanks;) {
    const std::size_t n = text.read(block.data(), block.size());
    if (n == 0) return {};
    std::string_view part(block.data(), n);
    if (first && part.starts_with("\xef\xbb\xbf")) part.remove_prefix(3);
    first = false;
    seen += n;
    const std::size_t at = part.find_first_not_of(" \t\r\n");
    if (at != part.npos) return std::string(part.substr(at, 16));
    block.resize(256 * 1024);
  }
  return {};
}

/// Characters of two bytes, without a mark that says so.
bool is_two_bytes(std::string_view text) {
  return text.size() >= 2 && (text[0] == 0) != (text[1] == 0) &&
         std::string_view("{[\"").find(text[0] != 0 ? text[0] : text[1]) != std::string_view::npos;
}

/// Begins as JSON objects and arrays do.
bool looks_like_json(const std::string& path) {
  const std::string text = first_characters(path);
  return (text.starts_with('{') || text.starts_with('[')) && !is_two_bytes(text);
}

/// Which program compressed it; "": none that is known.
std::string_view compressed_by(std::string_view begin) {
  static constexpr std::pair<std::string_view, std::string_view> kPrograms[] = {
      {"\x28\xb5\x2f\xfd", "zstd"},
      {"\xfd"
       "7zXZ",
       "xz"},
      {"BZh", "bzip2"},
      {"\x04\x22\x4d\x18", "lz4"}};
  for (const auto& [magic, program] : kPrograms)
    if (begin.starts_with(magic)) return program;
  return {};
}

bool is_utf16(std::string_view begin) {
  return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff") || is_two_bytes(begin);
}

/// What a file is that does not begin as JSON does.
std::string not_json_message(const std::string& path) {
  std::string head = first_bytes(path);
  const bool packed = is_gzip(head);
  if (packed) head = first_characters(path);
  if (const std::string_view program = compressed_by(head); !program.empty())
    return fmt::format(messages::import_files::kCompressed, path, program, program);
  if (is_utf16(head)) return fmt::format(messages::import_files::kUtf16, path);
  return fmt::format(messages::import_files::kNotATrace, path,
                     packed                  ? messages::import_files::kPackedNotJson
                     : path.ends_with(".gz") ? messages::import_files::kNeitherGzipNorJson
                                             : messages::import_files::kNotJson);
}

bool is_trace_name(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}
bool is_torch_name(const std::string& name) {
  return name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz");
}

/// What lies in a folder.
struct FolderListing {
  std::vector<std::string> spools, folders, torch, others;
  bool processes = false;  // spools of processes

  /// Files as the handlers of profilers name them, else all of JSON; the rest is reported.
  void traces(DetectedInput& to) const {
    to.traces.insert(to.traces.end(), torch.begin(), torch.end());
    for (const std::string& path : others) {
      if (!torch.empty())
        to.beside.emplace_back(path, messages::import_files::kOtherName);
      else if (looks_like_json(path))
        to.found.push_back(path);
      else
        to.beside.emplace_back(path, messages::import_files::kBeginsUnlikeJson);
    }
  }
};

support::Result<FolderListing> list(const std::string& folder) {
  FolderListing listing;
  std::error_code failed;
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string(), path = entry.path().string();
    std::error_code ignored;
    if (++seen > kMaxEntries)
      return support::error(
          fmt::format(messages::import_files::kTooManyEntries, folder, kMaxEntries));
    if (entry.is_directory(ignored)) {
      if (!name.starts_with('.')) listing.folders.push_back(path);
      if (name.starts_with(kSpoolPrefix) && fs::exists(entry.path() / "session.jsonl", ignored))
        listing.spools.push_back(path);
    } else if (name.ends_with(".spool")) {
      listing.processes = true;
    } else if (is_torch_name(name)) {
      listing.torch.push_back(path);
    } else if (is_trace_name(name) && !name.starts_with('.')) {
      listing.others.push_back(path);
    }
  }
  if (failed)
    return support::error(
        fmt::format(messages::spool::kMayNotReadFolder, folder, failed.message()));
  for (auto* names : {&listing.spools, &listing.folders, &listing.torch, &listing.others})
    std::sort(names->begin(), names->end());
  return listing;
}

support::Result<DetectedInput> choose_run(const std::string& folder,
                                          const std::map<std::string, DetectedInput>& runs) {
  if (runs.size() == 1) return runs.begin()->second;
  if (runs.empty())
    return support::error(fmt::format(messages::import_files::kNothingInFolder, folder));
  std::vector<std::string> names;
  for (const auto& [name, found] : runs)
    if (names.size() < 8) names.push_back(name);
  return support::error(fmt::format(messages::import_files::kSeveralRuns, folder,
                                    support::join(names, ", "),
                                    runs.size() > names.size() ? ", …" : ""));
}

/// One folder, without those in it.
support::Result<DetectedInput> detect_in_folder(const std::string& folder, bool* any) {
  DetectedInput found;
  std::error_code ignored;
  *any = true;
  if (fs::exists(fs::path(folder) / "session.jsonl", ignored)) {
    found.session = folder;
    return found;
  }
  GPUPROF_TRY(listing, list(folder));
  // A session that lost its log: whoever opens it says what can be done.
  if (listing.processes || listing.spools.size() == 1) {
    found.session = listing.processes ? folder : listing.spools[0];
    return found;
  }
  if (listing.spools.size() > 1) {
    std::map<std::string, DetectedInput> runs;
    for (const std::string& spool : listing.spools) runs[spool].session = spool;
    return choose_run(folder, runs);
  }
  listing.traces(found);
  // HTA's layout: a folder for each span, of one run.
  if (!found.any()) {
    std::vector<std::string> spans = listing.folders;
    const auto kineto =
        std::find(spans.begin(), spans.end(), (fs::path(folder) / "kineto").string());
    if (kineto != spans.end()) {
      GPUPROF_TRY(inner, list(*kineto));
      spans = inner.folders;
    }
    for (const std::string& span : spans) {
      if (!fs::path(span).filename().string().starts_with("span_")) continue;
      GPUPROF_TRY(inner, list(span));
      inner.traces(found);
    }
  }
  *any = found.any();
  return found;
}

support::Result<DetectedInput> look_at_folder(const std::string& folder) {
  bool any = false;
  GPUPROF_TRY(found, detect_in_folder(folder, &any));
  if (any) return found;
  // TensorBoard's layout: each folder is a run.
  GPUPROF_TRY(listing, list(folder));
  std::map<std::string, DetectedInput> runs;
  for (const std::string& inner : listing.folders) {
    GPUPROF_TRY(run, detect_in_folder(inner, &any));
    if (any) runs.emplace(inner, run);
  }
  return choose_run(folder, runs);
}

}  // namespace

std::vector<std::string> unique_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> kept;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code failed;
    const fs::path same = fs::canonical(path, failed);
    if (seen.insert(failed ? path : same.string()).second) kept.push_back(path);
  }
  return kept;
}

support::Result<DetectedInput> detect_input(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found)
    return support::error(fmt::format(messages::import_files::kNoSuchFile, path));
  if (failed)
    return support::error(fmt::format(messages::spool::kCannotRead, path, failed.message()));
  if (fs::is_directory(status)) return look_at_folder(path);
  if (!fs::is_regular_file(status))
    return support::error(fmt::format(messages::import_files::kNeitherFileNorFolder, path));
  if (fs::file_size(path, failed) == 0 && !failed)
    return support::error(fmt::format(messages::import_files::kEmptyFile, path));
  // The log of a session, or a spool, named in place of the folder they lie in.
  const fs::path file(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (file.filename() == "session.jsonl" ||
      (file.extension() == ".spool" && fs::exists(folder / "session.jsonl", failed)))
    return DetectedInput{folder.string(), {}, {}, {}};
  if (first_bytes(path).empty())
    return support::error(fmt::format(messages::import_files::kRunAsOwner, path));
  if (looks_like_json(path)) return DetectedInput{{}, {path}, {}, {}};
  return support::error(not_json_message(path));
}

}  // namespace gpuprof::importer
