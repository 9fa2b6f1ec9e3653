// SPDX-License-Identifier: Apache-2.0
//
// read_trace(), by RapidJSON's event reader: each event is one value for it, parsed in place.
//
// Context:  cli through analysis/commands
// Promises: an event that the block at hand cuts is read again from its beginning with the next one
#include "analysis/import/json/json_events.hpp"

#include "analysis/import/json/event_handler.hpp"
#include "analysis/import/json/json_repair.hpp"
#include "analysis/import/json/lone_surrogates.hpp"
#include "analysis/import/json/sliding_buffer.hpp"
#include "analysis/import/json/text_position.hpp"
#include "analysis/messages/import_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

namespace gpuprof::importer {
namespace {

constexpr unsigned kFlags = json::kParseInsituFlag | json::kParseStopWhenDoneFlag |
                            json::kParseNumbersAsStringsFlag | json::kParseNanAndInfFlag;
constexpr std::size_t kProgressEvery = 1024;

/// The parser's own text, which is a whole sentence, as a part of one.
std::string parser_error(json::ParseErrorCode code) {
  std::string text = json::GetParseError_En(code);
  while (text.ends_with('.')) text.pop_back();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

class TraceReader {
 public:
  TraceReader(TextSource& source, const std::string& path, bool found, TraceListener& listener)
      : source_(source), path_(path), found_(found), listener_(listener), text_(source) {}

  /// Empty: it is a trace.
  support::Result<std::string> run() {
    if (text_.left() >= 3 && std::memcmp(text_.original(), "\xef\xbb\xbf", 3) == 0) text_.skip(3);
    const char first = text_.peek();
    if (first == '[') {
      text_.skip();
      GPUPROF_CHECK(events(true));
      if (not_a_trace_.empty()) GPUPROF_CHECK(nothing_follows());
      return not_a_trace_;
    }
    if (first != '{') {
      if (!source_.failure().empty()) return support::error(source_.failure());
      return std::string(messages::import_json::kNotJson);
    }
    text_.skip();
    const auto read = object();
    if (read || !not_a_trace_.empty()) return not_a_trace_;
    // Damaged where no event was seen: whether it is a trace remains open.
    if (!found_ || events_seen_ || cut_) return read.error();
    const std::string& message = read.error().message;
    return message.substr(message.starts_with(path_ + " ") ? path_.size() + 1 : 0);
  }

 private:
  support::Error bad(const std::string& message) const {
    if (!source_.failure().empty() && text_.left() == 0) return support::error(source_.failure());
    return support::error(message);
  }
  support::Error cut() {
    cut_ = true;
    if (!source_.failure().empty()) return support::error(source_.failure());
    return support::error(
        fmt::format(messages::import_json::kTruncated, path_, text_.offset() + text_.left()));
  }

  support::Error too_long(std::string_view what) const {
    constexpr std::size_t kMaxMib = kMaxValueBytes >> 20;
    return bad(
        what == "an event"
            ? fmt::format(messages::import_json::kEventTooLong, path_, kMaxMib, text_.offset())
            : fmt::format(messages::import_json::kMemberTooLong, path_, kMaxMib, text_.offset()));
  }

  /// @param at  from the cursor on
  support::Error damaged(std::size_t at, std::string_view wrong) const {
    const std::string writer = guess_writer(path_);
    const std::string position = describe_position(path_, text_.offset() + at);
    return support::error(
        writer.empty()
            ? fmt::format(messages::import_json::kDamaged, path_, position, wrong)
            : fmt::format(messages::import_json::kDamagedByWriter, path_, position, wrong, writer));
  }
  support::Error damaged_here(std::string_view wrong) const { return damaged(0, wrong); }

  support::Result<void> object() {
    for (bool first = true;; first = false) {
      char c = text_.peek();
      if (c == '}') break;
      if (!first) {
        if (c == 0) return cut();
        if (c == '"') {
          listener_.on_repaired(RepairKind::kComma, 1);
        } else if (c != ',') {
          return damaged_here(messages::import_json::kExpectedCommaOrObjectEnd);
        } else {
          text_.skip();
          c = text_.peek();
          if (c == '}') {
            listener_.on_repaired(RepairKind::kComma, 1);
            break;
          }
        }
      }
      if (c == 0) return cut();
      if (c != '"') return damaged_here(messages::import_json::kExpectedName);
      GPUPROF_CHECK(member());
      if (!not_a_trace_.empty()) return {};
    }
    if (!events_seen_) {
      not_a_trace_ = messages::import_json::kNoEventList;
      return {};
    }
    text_.skip();
    return nothing_follows();
  }

  support::Result<void> nothing_follows() {
    const char c = text_.peek();
    if (c == '{' || c == '[') return damaged_here(messages::import_json::kSecondText);
    if (c != 0) return damaged_here(messages::import_json::kExpectedFileEnd);
    if (!source_.failure().empty()) return support::error(source_.failure());
    return {};
  }

  support::Result<void> member() {
    GPUPROF_TRY(key, whole_value("the name of a member"));
    if (key.size() < 2) return damaged_here(messages::import_json::kExpectedName);
    const std::string name = key.substr(1, key.size() - 2);
    char c = text_.peek();
    if (c == 0) return cut();
    if (c != ':') return damaged_here(messages::import_json::kExpectedColon);
    text_.skip();
    c = text_.peek();
    if (name == "traceEvents" && c == '[') {
      if (events_seen_) return bad(fmt::format(messages::import_json::kTwoEventLists, path_));
      events_seen_ = true;
      text_.skip();
      return events(false);
    }
    if (c == 0) return cut();
    if (name == "traceEvents") {
      not_a_trace_ = messages::import_json::kEventsNotAList;
      return {};
    }
    GPUPROF_TRY(value, whole_value(name));
    return listener_.on_member(name, value);
  }

  /// The next value as it stands in the file, or as it was meant.
  support::Result<std::string> whole_value(std::string_view what) {
    repaired_.clear();
    SkipHandler skipper;
    GPUPROF_TRY(bytes, parse(skipper, what));
    std::string value = repaired_.empty() ? std::string(text_.original(), bytes) : repaired_;
    text_.skip(bytes);
    return value;
  }

  support::Result<void> events(bool bare) {
    RawEvent event;
    std::size_t number = 0;
    for (bool first = true;; first = false) {
      char c = text_.peek();
      if (c == ']') break;
      // Chrome's own array form may lack its end.
      if (c == 0 && bare && source_.failure().empty()) return without_end();
      if (c == 0) return cut();
      if (c == ',' && first) listener_.on_repaired(RepairKind::kComma, 1);
      if (c == '{' && !first) listener_.on_repaired(RepairKind::kComma, 1);
      if (c != ',' && c != '{' && !first)
        return damaged_here(messages::import_json::kExpectedCommaOrListEnd);
      if (c == ',') {
        text_.skip();
        c = text_.peek();
        if (c == 0 && bare && source_.failure().empty()) return without_end();
        while (c == ',' || c == ']') {
          listener_.on_repaired(RepairKind::kComma, 1);
          if (c == ']') break;
          text_.skip();
          c = text_.peek();
        }
        if (c == ']') break;
      }
      if (c == 0) return cut();
      if (c != '{') {
        if (bare && first) {
          not_a_trace_ = messages::import_json::kListOfOther;
          return {};
        }
        GPUPROF_TRY(other, whole_value("an event"));
        (void)other;
        listener_.on_other_value();
        continue;
      }
      GPUPROF_CHECK(event_at(event));
      if (++number % kProgressEvery == 0) listener_.on_progress();
    }
    text_.skip();
    return {};
  }

  support::Result<void> without_end() {
    listener_.on_repaired(RepairKind::kUnterminatedArray, 1);
    return {};
  }

  support::Result<void> event_at(RawEvent& event) {
    for (;;) {
      clear(event);
      json::InsituStringStream stream(text_.parse_copy());
      EventHandler handler(event, stream);
      const auto result = reader_.Parse<kFlags>(stream, handler);
      if (!result.IsError()) {
        if (stream.Tell() > kMaxValueBytes) return too_long("an event");
        listener_.on_event(event);
        text_.skip(stream.Tell());
        return {};
      }
      repaired_.clear();
      GPUPROF_TRY(bytes, failed(result, "an event"));
      if (bytes == 0) continue;
      return repaired_event(event, bytes);
    }
  }

  /// @param bytes  of the damaged event
  support::Result<void> repaired_event(RawEvent& event, std::size_t bytes) {
    clear(event);
    // The parser reads 16 bytes at a time, also the last ones.
    constexpr std::size_t kReadBeyond = 64;
    repaired_.append(kReadBeyond, '\0');
    json::InsituStringStream stream(repaired_.data());
    EventHandler handler(event, stream);
    const auto result = reader_.Parse<kFlags>(stream, handler);
    if (result.IsError()) return damaged_here(parser_error(result.Code()));
    listener_.on_event(event);
    text_.skip(bytes);
    return {};
  }

  /// Parses one value in place; its length, and `repaired_` where it stands for another. The cursor
  /// stays.
  template <typename Handler>
  support::Result<std::size_t> parse(Handler& handler, std::string_view what) {
    const Handler fresh = handler;
    for (;;) {
      json::InsituStringStream stream(text_.parse_copy());
      const auto result = reader_.Parse<kFlags>(stream, handler);
      if (!result.IsError() && stream.Tell() > kMaxValueBytes) return too_long(what);
      if (!result.IsError() && stream.Tell() < text_.left()) return stream.Tell();
      handler = fresh;
      if (result.IsError()) {
        GPUPROF_TRY(bytes, failed(result, what));
        if (bytes != 0) return bytes;
      } else if (!text_.read_more()) {
        return cut();  // a number may go on
      }
    }
  }

  /// An error at the cursor's value: reads on (0), or repairs it into `repaired_` (the bytes that
  /// this stands for), else says what is wrong.
  support::Result<std::size_t> failed(const json::ParseResult& result, std::string_view what) {
    const std::size_t at = result.Offset();
    if (result.Code() == json::kParseErrorTermination)
      return bad(
          fmt::format(messages::import_json::kTooDeep, path_, kMaxDepth, text_.offset() + at));
    // Within the last bytes the value was only cut by the end of what was read.
    if (at + 16 >= text_.left() || unfinished_text(result.Code())) {
      if (text_.left() > kMaxValueBytes) return too_long(what);
      if (text_.read_more()) return 0;
      if (!source_.failure().empty()) return cut();
    }
    return repair_into(result, what);
  }

  support::Result<std::size_t> repair_into(const json::ParseResult& result, std::string_view what) {
    const auto kind = what == "an event"               ? DamagedValue::kEvent
                      : what == "the name of a member" ? DamagedValue::kName
                                                       : DamagedValue::kMember;
    for (bool ends = false;;) {
      RepairResult repaired = repair_value({text_.original(), text_.left()}, ends, kind);
      if (repaired.state == RepairResult::State::kNeedsMoreText) {
        if (text_.left() > kMaxValueBytes) return too_long(what);
        ends = !text_.read_more();
        if (ends && !source_.failure().empty()) return cut();
        continue;
      }
      if (repaired.state == RepairResult::State::kUnrepairable) {
        if (ends && result.Offset() + 1 >= text_.left()) return cut();
        if (ends && repaired.at >= text_.left()) return cut();
        if (ends && unfinished_text(result.Code())) return cut();
        return damaged(repaired.at, repaired.wrong);
      }
      return settle(std::move(repaired), result);
    }
  }

  /// What was repaired is reported, and is what the parser gets.
  support::Result<std::size_t> settle(RepairResult repaired, const json::ParseResult& result) {
    const std::size_t pairs = replace_lone_surrogates(repaired.text, 0);
    repaired.places[static_cast<std::size_t>(RepairKind::kSurrogate)] +=
        static_cast<std::uint32_t>(pairs);
    bool any = false;
    for (const RepairKind mending : kRepairKinds) {
      const std::uint32_t places = repaired.places[static_cast<std::size_t>(mending)];
      if (places != 0) listener_.on_repaired(mending, places);
      any = any || places != 0;
    }
    // The parser refused what the mender takes: they would disagree for ever.
    if (!any) return damaged(result.Offset(), parser_error(result.Code()));
    repaired_ = std::move(repaired.text);
    return repaired.bytes;
  }

  /// Such errors point at the beginning of a text whose end is missing.
  static bool unfinished_text(json::ParseErrorCode code) {
    return code == json::kParseErrorStringMissQuotationMark;
  }

  TextSource& source_;
  const std::string& path_;
  const bool found_;
  TraceListener& listener_;
  SlidingBuffer text_;
  json::Reader reader_;
  std::string repaired_;  // the value at hand, where it was damaged
  std::string not_a_trace_;
  bool events_seen_ = false, cut_ = false;
};

}  // namespace

support::Result<std::string> read_trace(TextSource& source, const std::string& path, bool found,
                                        TraceListener& listener) {
  GPUPROF_TRY(other, TraceReader(source, path, found, listener).run());
  if (!other.empty()) return other;
  // What follows the trace is not ours to read, but must be whole: a checksum is at its end.
  while (!source.next().empty()) {
  }
  if (!source.failure().empty()) return support::error(source.failure());
  return std::string();
}

}  // namespace gpuprof::importer
