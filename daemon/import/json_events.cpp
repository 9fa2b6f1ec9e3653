// SPDX-License-Identifier: Apache-2.0
//
// read_trace(), by RapidJSON's event reader: each event is one value for it, parsed in place.
//
// Context:  cli through daemon/api
// Promises: an event that the block at hand cuts is read again from its beginning with the next one
#include "daemon/import/json_events.hpp"

#include "daemon/import/event_handler.hpp"
#include "daemon/import/sliding_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace gpuprof::importer {
namespace {

constexpr unsigned kFlags = json::kParseInsituFlag | json::kParseStopWhenDoneFlag |
                            json::kParseNumbersAsStringsFlag | json::kParseNanAndInfFlag;
/// Words for numbers that are none, in one event.
constexpr int kMaxRepairs = 10'000;
constexpr std::size_t kProgressEvery = 1024;

/// Words that writers of JSON put where a number has no value.
bool is_no_number(std::string_view word) {
  for (const std::string_view known : {"N/A", "n/a", "NA", "nan", "-nan", "NAN", "inf", "-inf",
                                       "INF", "infinity", "-infinity", "None", "undefined"})
    if (word == known) return true;
  return false;
}

class TraceReader {
 public:
  TraceReader(TextSource& source, const std::string& path, TraceListener& listener)
      : source_(source), path_(path), listener_(listener), text_(source) {}

  support::Result<void> run() {
    if (text_.left() >= 3 && std::memcmp(text_.pristine(), "\xef\xbb\xbf", 3) == 0) text_.skip(3);
    const char first = text_.peek();
    if (first == '[') {
      text_.skip();
      return events(true);
    }
    if (first != '{') return bad("is no trace: it does not begin as a JSON object or array does");
    text_.skip();
    return object();
  }

 private:
  support::Error bad(std::string_view what) const {
    if (!source_.failure().empty() && text_.left() == 0) return support::error(source_.failure());
    return support::error(fmt::format("{} {}", path_, what));
  }
  support::Error cut() const {
    if (!source_.failure().empty()) return support::error(source_.failure());
    return support::error(fmt::format(
        "{} ends in the middle of its JSON text, after {} bytes: it was cut short, or is still "
        "being written",
        path_, text_.offset() + text_.left()));
  }

  support::Error too_long(std::string_view what) const {
    return bad(fmt::format("has {} of more than {} MiB at byte {}, which no trace has",
                           what == "an event" ? "an event" : "a member", kMaxValueBytes >> 20,
                           text_.offset()));
  }

  support::Result<void> object() {
    bool events_seen = false;
    for (bool first = true;; first = false) {
      char c = text_.peek();
      if (c == '}') break;
      if (!first) {
        if (c == 0) return cut();
        if (c != ',') return wrong("a comma or the end of the object");
        text_.skip();
        c = text_.peek();
      }
      if (c == 0) return cut();
      if (c != '"') return wrong("the name of a member");
      GPUPROF_TRY(key, whole_value("the name of a member"));
      if (key.size() < 2) return wrong("the name of a member");
      const std::string name = key.substr(1, key.size() - 2);
      c = text_.peek();
      if (c == 0) return cut();
      if (c != ':') return wrong("a colon");
      text_.skip();
      c = text_.peek();
      if (name == "traceEvents" && c == '[') {
        if (events_seen) return bad("has two lists of events: it is no trace");
        events_seen = true;
        text_.skip();
        GPUPROF_CHECK(events(false));
        continue;
      }
      if (c == 0) return cut();
      if (name == "traceEvents") return bad("is no trace: its traceEvents are no list");
      GPUPROF_TRY(value, whole_value(name));
      GPUPROF_CHECK(listener_.on_member(name, value));
    }
    if (!events_seen)
      return bad(
          "is JSON, but no trace: it has no traceEvents, as the files of torch.profiler, "
          "Kineto and gpuprof do");
    text_.skip();
    if (text_.peek() != 0) return wrong("the end of the file");
    if (!source_.failure().empty()) return support::error(source_.failure());
    return {};
  }

  support::Error wrong(std::string_view wanted) const {
    return support::error(
        fmt::format("{} is no JSON text that can be read: at byte {} {} should "
                    "stand; the file is damaged or of another kind",
                    path_, text_.offset(), wanted));
  }

  /// The next value as it stands in the file.
  support::Result<std::string> whole_value(std::string_view what) {
    Skipper skipper;
    GPUPROF_TRY(bytes, parse(skipper, what));
    std::string value(text_.pristine(), bytes);
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
      if (c == 0 && bare && source_.failure().empty()) return {};
      if (c == 0) return cut();
      if (!first) {
        if (c != ',') return wrong("a comma or the end of the events");
        text_.skip();
        c = text_.peek();
        if (c == 0 && bare && source_.failure().empty()) return {};
        if (c == ']') break;  // a comma too many, as some writers leave it
      }
      if (c == 0) return cut();
      if (c != '{') {
        if (bare && first) return bad("is JSON, but no trace: it is a list of something else");
        GPUPROF_TRY(other, whole_value("an event"));
        (void)other;
        continue;
      }
      GPUPROF_CHECK(event_at(event));
      if (++number % kProgressEvery == 0) listener_.on_progress();
    }
    text_.skip();
    return {};
  }

  support::Result<void> event_at(RawEvent& event) {
    for (;;) {
      clear(event);
      json::InsituStringStream stream(text_.work());
      EventHandler handler(event, stream);
      const auto result = reader_.Parse<kFlags>(stream, handler);
      if (result.IsError()) {
        GPUPROF_CHECK(failed(result, "an event"));
        continue;
      }
      if (stream.Tell() > kMaxValueBytes) return too_long("an event");
      listener_.on_event(event);
      text_.skip(stream.Tell());
      return {};
    }
  }

  /// Parses one value in place; its length. The cursor stays.
  template <typename Handler>
  support::Result<std::size_t> parse(Handler& handler, std::string_view what) {
    const Handler fresh = handler;
    for (;;) {
      json::InsituStringStream stream(text_.work());
      const auto result = reader_.Parse<kFlags>(stream, handler);
      if (!result.IsError() && stream.Tell() > kMaxValueBytes) return too_long(what);
      if (!result.IsError() && stream.Tell() < text_.left()) return stream.Tell();
      handler = fresh;
      if (result.IsError()) {
        GPUPROF_CHECK(failed(result, what));
      } else if (text_.restore(text_.left()); !text_.more()) {
        return cut();  // a number may go on
      }
    }
  }

  /// An error at the cursor's value: mends or reads on, else says what is wrong.
  support::Result<void> failed(const json::ParseResult& result, std::string_view what) {
    const std::size_t at = result.Offset();
    if (result.Code() == json::kParseErrorTermination)
      return bad(fmt::format("is nested more than {} levels deep at byte {}: no trace is",
                             kMaxDepth, text_.offset() + at));
    if (result.Code() == json::kParseErrorValueInvalid && mend(at)) return {};
    if (result.Code() == json::kParseErrorStringUnicodeSurrogateInvalid &&
        text_.mend_surrogates(at))
      return {};
    text_.restore(text_.left());
    // Within the last bytes the value was only cut by the end of what was read.
    const bool cut_here = at + 16 >= text_.left() || unfinished_text(result.Code());
    if (cut_here) {
      if (text_.left() > kMaxValueBytes) return too_long(what);
      if (text_.more()) return {};
      if (!source_.failure().empty() || at + 1 >= text_.left()) return cut();
    }
    if (!source_.failure().empty()) return cut();
    return bad(fmt::format("is damaged at byte {}: {}", text_.offset() + at,
                           json::GetParseError_En(result.Code())));
  }

  /// Such errors point at the beginning of a text whose end is missing.
  static bool unfinished_text(json::ParseErrorCode code) {
    return code == json::kParseErrorStringMissQuotationMark;
  }

  /// A word for "no number" at an error becomes an empty text. `at` may point behind its begin.
  bool mend(std::size_t at) {
    const std::string_view text(text_.pristine(), text_.left());
    const auto ends = [](char c) { return c == ',' || c == '}' || c == ']' || c == ' '; };
    const auto begins = [](char c) { return c == ':' || c == ',' || c == '[' || c == ' '; };
    std::size_t from = std::min(at, text.size());
    while (from > 0 && from + 12 > at && !begins(text[from - 1])) --from;
    std::size_t to = from;
    while (to < text.size() && to < from + 12 && !ends(text[to])) ++to;
    if (to >= text.size() || to - from < 2 || !is_no_number(text.substr(from, to - from)))
      return false;
    if (event_offset_ != text_.offset()) repairs_ = 0;
    event_offset_ = text_.offset();
    if (++repairs_ > kMaxRepairs) return false;
    std::string blank(to - from, ' ');
    blank[0] = blank[1] = '"';
    text_.overwrite(from, blank);
    text_.restore(std::max(at + 1, to));
    return true;
  }

  TextSource& source_;
  const std::string& path_;
  TraceListener& listener_;
  Sliding text_;
  json::Reader reader_;
  std::uint64_t event_offset_ = ~0ULL;
  int repairs_ = 0;
};

}  // namespace

support::Result<void> read_trace(TextSource& source, const std::string& path,
                                 TraceListener& listener) {
  GPUPROF_CHECK(TraceReader(source, path, listener).run());
  // What follows the trace is not ours to read, but must be whole: a checksum is at its end.
  while (!source.next().empty()) {
  }
  if (!source.failure().empty()) return support::error(source.failure());
  return {};
}

}  // namespace gpuprof::importer
