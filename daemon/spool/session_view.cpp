// SPDX-License-Identifier: Apache-2.0
//
// open_session(): session.jsonl back into a SessionView.
//
// Context:  daemon | cli
// Promises: a half last line (the daemon was killed) is left out; other damage is an error
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <fstream>
#include <map>

#include "daemon/spool/session_lines.hpp"
#include "daemon/spool/spool.hpp"

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
  return static_cast<bool>(reader.Parse<rapidjson::kParseNumbersAsStringsFlag>(stream, out));
}

support::Result<void> begin_session(const FlatObject& line, SessionView& view) {
  if (line.number("version") != lines::kVersion)
    return support::error(fmt::format(
        "{} was written by another version of gpuprof: export it with that one", view.folder));
  view.host = line.text("host");
  auto options = api::from_text(line.text("options"));
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
    view.windows.push_back({static_cast<std::uint32_t>(line.number("index")),
                            line.number("start_ns"), line.number("end_ns"),
                            line.number("stamp_real_ns"), line.number("first_step"),
                            line.number("steps"), line.text("why")});
  } else if (kind == lines::kRemark) {
    view.remarks.emplace_back(line.text("key"), line.text("sentence"));
  } else if (kind == lines::kChosen) {
    view.chosen = line.numbers("pids");
  } else if (kind == lines::kEnded) {
    view.ended = true;
  }
  return {};  // a kind of a later version: nothing this one could do with it
}

}  // namespace

support::Result<SessionView> open_session(const std::string& folder) {
  SessionView view;
  view.folder = folder;
  while (view.folder.size() > 1 && view.folder.back() == '/') view.folder.pop_back();
  const std::string path = view.folder + "/" + lines::kFileName;
  std::ifstream file(path);
  if (!file)
    return support::error(
        fmt::format("{} is not a spool folder: it has no {}", folder, lines::kFileName));
  std::string text;
  std::uint64_t number = 0;
  while (std::getline(file, text)) {
    ++number;
    const bool whole = !file.eof();
    FlatObject line;
    if (!parse_line(text, line)) {
      if (!whole) break;
      return support::error(fmt::format("{} is damaged at line {}", path, number));
    }
    GPUPROF_CHECK(apply(line, view));
  }
  if (number == 0) return support::error(fmt::format("{} is empty", path));
  return view;
}

}  // namespace gpuprof::spool
