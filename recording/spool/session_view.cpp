// SPDX-License-Identifier: Apache-2.0
//
// open_session(): session.jsonl back into a SessionView.
//
// Context:  daemon | cli
// Promises: a half last line (the daemon was killed) is left out; so are damaged lines behind the
//           first, which are reported
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "recording/messages/spool.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/session_log_keys.hpp"
#include "recording/spool/spool.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::spool {
namespace {

/// Collects a flat object: every value as text, arrays as several texts.
class FlatObject : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, FlatObject> {
 public:
  bool Default() { return false; }  // nothing but what is below is written by us
  bool StartObject() { return ++depth_ == 1; }
  bool EndObject(rapidjson::SizeType) { return true; }
  bool StartArray() { return true; }
  bool EndArray(rapidjson::SizeType) { return true; }
  bool Key(const char* text, rapidjson::SizeType bytes, bool) {
    key_.assign(text, bytes);
    values_[key_];
    return true;
  }
  bool String(const char* text, rapidjson::SizeType bytes, bool) {
    values_[key_].emplace_back(text, bytes);
    return true;
  }
  bool RawNumber(const char* text, rapidjson::SizeType bytes, bool copy) {
    return String(text, bytes, copy);
  }

  const std::string& text(const char* key) const {
    static const std::string kNone;
    const auto found = values_.find(key);
    return found == values_.end() || found->second.empty() ? kNone : found->second.front();
  }
  std::uint64_t number(const char* key) const { return to_number(text(key)); }
  std::vector<std::uint32_t> numbers(const char* key) const {
    std::vector<std::uint32_t> result;
    if (const auto found = values_.find(key); found != values_.end())
      for (const std::string& value : found->second)
        result.push_back(static_cast<std::uint32_t>(to_number(value)));
    return result;
  }
  std::vector<std::string> texts(const char* key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::vector<std::string>{} : found->second;
  }

 private:
  static std::uint64_t to_number(const std::string& text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  int depth_ = 0;
  std::string key_;
  std::map<std::string, std::vector<std::string>> values_;
};

bool parse_line(const std::string& line, FlatObject& out) {
  rapidjson::Reader reader;
  rapidjson::StringStream stream(line.c_str());
  constexpr unsigned kHow = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag;
  return static_cast<bool>(reader.Parse<kHow>(stream, out));
}

support::Result<void> begin_session(const FlatObject& line, SessionView& view) {
  if (line.number("version") != lines::kVersion)
    return support::error(fmt::format(messages::spool::kOtherVersion, view.folder,
                                      line.number("version"), lines::kVersion));
  view.host = line.text("host");
  auto options = recording::from_text(line.text("options"));
  if (!options) return options.error();
  view.options = options.take();
  return {};
}

support::Result<void> apply(const FlatObject& line, SessionView& view) {
  const std::string& kind = line.text(lines::kKind);
  if (kind == lines::kSession) return begin_session(line, view);
  if (kind == lines::kProcess) {
    const std::string& name = line.text("spool");
    const bool absolute = !name.empty() && name[0] == '/';
    view.processes.push_back({static_cast<std::uint32_t>(line.number("pid")),
                              absolute ? name : view.folder + "/" + name});
  } else if (kind == lines::kWindow) {
    const std::uint64_t start_ns = std::min(line.number("start_ns"), kMaxTimeNs);
    const std::uint64_t end_ns =
        std::clamp(line.number("end_ns"), start_ns, start_ns + kMaxWindowNs);
    view.windows.push_back({static_cast<std::uint32_t>(line.number("index")), start_ns, end_ns,
                            line.number("stamp_real_ns"), line.number("first_step"),
                            line.number("first_label"), line.number("steps"), line.text("why"),
                            line.number("settled_ns"), line.number("gapless") != 0,
                            line.number("losses_from_ns")});
  } else if (kind == lines::kRemark) {
    view.remarks.emplace_back(line.text("key"), line.text("sentence"));
  } else if (kind == lines::kSelected) {
    view.selected = line.numbers("pids");
    view.selected_spools = line.texts("spools");
  } else if (kind == lines::kEnded) {
    view.ended = true;
  }
  return {};  // a kind of a later version: nothing this one could do with it
}

bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Why a folder without session.jsonl is no spool, with the one that was probably meant.
support::Error missing_log_error(const std::string& folder) {
  std::error_code failed;
  std::size_t spools = 0;
  std::string inside;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".spool") ++spools;
    if (starts_with(entry.path().filename().string(), ".gpuprof-spool-")) inside = entry.path();
  }
  if (failed)
    return support::error(
        fmt::format(messages::spool::kMayNotReadFolder, folder, failed.message()));
  if (spools != 0)
    return support::error(
        fmt::format(messages::spool::kLogIsGone, folder, lines::kFileName,
                    support::count_with_unit(spools, "spool file", "spool files")));
  return support::error(
      inside.empty()
          ? fmt::format(messages::spool::kNotASpoolFolder, folder, lines::kFileName)
          : fmt::format(messages::spool::kSpoolFolderInside, folder, lines::kFileName, inside));
}

support::Error cannot_open(const std::string& folder, const std::string& path, int failure) {
  if (failure == ENOENT && support::is_folder(folder)) return missing_log_error(folder);
  if (failure == ENOENT) return support::error(fmt::format(messages::spool::kNoFolder, folder));
  if (failure == ENOTDIR) return support::error(fmt::format(messages::spool::kIsAFile, folder));
  if (failure == EACCES || failure == EPERM)
    return support::error(fmt::format(messages::spool::kMayNotRead, path, std::strerror(failure)));
  return support::error(fmt::format(messages::spool::kCannotRead, path, std::strerror(failure)));
}

}  // namespace

support::Result<SessionView> open_session(const std::string& folder) {
  SessionView view;
  view.folder = folder;
  while (view.folder.size() > 1 && view.folder.back() == '/') view.folder.pop_back();
  const std::string path = view.folder + "/" + lines::kFileName;
  errno = 0;
  std::ifstream file(path);
  if (!file) return cannot_open(view.folder, path, errno);
  std::string text;
  std::uint64_t number = 0, damaged = 0, first_damaged = 0;
  bool begun = false;
  while (std::getline(file, text)) {
    ++number;
    const bool whole = !file.eof();
    FlatObject line;
    if (!parse_line(text, line)) {
      if (!whole) break;
      if (!begun) return support::error(fmt::format(messages::spool::kLogIsDamaged, path, number));
      if (damaged++ == 0) first_damaged = number;
      continue;
    }
    if (!begun && line.text(lines::kKind) != lines::kSession)
      return support::error(fmt::format(messages::spool::kLogIsForeign, path));
    begun = true;
    GPUPROF_CHECK(apply(line, view));
  }
  if (!begun)
    return support::error(number == 0 ? fmt::format(messages::spool::kLogIsEmpty, path)
                                      : fmt::format(messages::spool::kLogEndsAtOnce, path));
  if (damaged == 1) view.damage = fmt::format(messages::spool::kDamagedLine, path, first_damaged);
  if (damaged > 1)
    view.damage = fmt::format(messages::spool::kDamagedLines, support::human_count(damaged), path,
                              first_damaged);
  return view;
}

}  // namespace gpuprof::spool
