// SPDX-License-Identifier: Apache-2.0
//
// look_at(): the first bytes of files, and how folders of traces are laid out.
//
// Context:  cli through daemon/api
#include "daemon/import/path_kind.hpp"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "daemon/import/text_source.hpp"
#include "support/text.hpp"

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

/// What the first bytes of a gzip file unpack to.
std::string unpacked(const std::string& packed) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  std::string copy = packed, text(4096, '\0');
  state->next_in = reinterpret_cast<std::uint8_t*>(copy.data());
  state->avail_in = static_cast<std::uint32_t>(copy.size());
  state->next_out = reinterpret_cast<std::uint8_t*>(text.data());
  state->avail_out = static_cast<std::uint32_t>(text.size());
  isal_inflate(state.get());
  text.erase(text.size() - state->avail_out);
  return text;
}

/// Begins as JSON objects and arrays do.
bool looks_like_json(const std::string& path) {
  std::string text = first_bytes(path);
  if (is_gzip(text)) text = unpacked(text);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && (text[at] == '{' || text[at] == '[');
}

bool is_trace_name(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}
bool is_torch_name(const std::string& name) {
  return name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz");
}

/// What lies in a folder.
struct Listing {
  std::vector<std::string> spools, folders, torch, others;
  bool processes = false;  // spools of processes

  /// Files as the handlers of profilers name them, else all of JSON.
  std::vector<std::string> traces() const {
    if (!torch.empty()) return torch;
    std::vector<std::string> found;
    for (const std::string& path : others)
      if (looks_like_json(path)) found.push_back(path);
    return found;
  }
};

support::Result<Listing> list(const std::string& folder) {
  Listing listing;
  std::error_code failed;
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string(), path = entry.path().string();
    std::error_code ignored;
    if (++seen > kMaxEntries) break;
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
    return support::error(fmt::format("cannot read the folder {}: {}; run this as its owner",
                                      folder, failed.message()));
  for (auto* names : {&listing.spools, &listing.folders, &listing.torch, &listing.others})
    std::sort(names->begin(), names->end());
  return listing;
}

support::Result<Found> choose_run(const std::string& folder,
                                  const std::map<std::string, Found>& runs) {
  if (runs.size() == 1) return runs.begin()->second;
  if (runs.empty())
    return support::error(fmt::format(
        "there is nothing to read in {}: no session of gpuprof and no trace (.json or .json.gz)",
        folder));
  std::vector<std::string> names;
  for (const auto& [name, found] : runs)
    if (names.size() < 8) names.push_back(name);
  return support::error(fmt::format("{} holds several runs; name one of them: {}{}", folder,
                                    support::join(names, ", "),
                                    runs.size() > names.size() ? ", …" : ""));
}

/// One folder, without those in it.
support::Result<Found> look_into(const std::string& folder, bool* any) {
  Found found;
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
    std::map<std::string, Found> runs;
    for (const std::string& spool : listing.spools) runs[spool].session = spool;
    return choose_run(folder, runs);
  }
  found.traces = listing.traces();
  // HTA's layout: a folder for each span, of one run.
  if (found.traces.empty()) {
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
      const auto traces = inner.traces();
      found.traces.insert(found.traces.end(), traces.begin(), traces.end());
    }
  }
  *any = !found.traces.empty();
  return found;
}

support::Result<Found> look_at_folder(const std::string& folder) {
  bool any = false;
  GPUPROF_TRY(found, look_into(folder, &any));
  if (any) return found;
  // TensorBoard's layout: each folder is a run.
  GPUPROF_TRY(listing, list(folder));
  std::map<std::string, Found> runs;
  for (const std::string& inner : listing.folders) {
    GPUPROF_TRY(run, look_into(inner, &any));
    if (any) runs.emplace(inner, run);
  }
  return choose_run(folder, runs);
}

}  // namespace

support::Result<Found> look_at(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found)
    return support::error(fmt::format("there is no file or folder {}", path));
  if (failed) return support::error(fmt::format("cannot read {}: {}", path, failed.message()));
  if (fs::is_directory(status)) return look_at_folder(path);
  if (!fs::is_regular_file(status))
    return support::error(fmt::format("{} is neither a file nor a folder", path));
  if (fs::file_size(path, failed) == 0 && !failed)
    return support::error(fmt::format("{} is empty; was it being written?", path));
  // The log of a session, or a spool, named in place of the folder they lie in.
  const fs::path file(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (file.filename() == "session.jsonl" ||
      (file.extension() == ".spool" && fs::exists(folder / "session.jsonl", failed)))
    return Found{folder.string(), {}};
  const std::string head = first_bytes(path);
  if (head.empty())
    return support::error(fmt::format("cannot read {}; run this as its owner", path));
  if (!looks_like_json(path))
    return support::error(fmt::format(
        "{} is no trace: {}; a JSON trace of torch.profiler, Kineto or gpuprof is read, or the "
        "folder of a session",
        path,
        is_gzip(head)           ? "what gzip packed there is no JSON text"
        : path.ends_with(".gz") ? "it is neither gzip nor JSON text"
                                : "it is no JSON text"));
  return Found{{}, {path}};
}

}  // namespace gpuprof::importer
