// SPDX-License-Identifier: Apache-2.0
//
// read_trace(), by RapidJSON's event reader: each event is one value for it, parsed in place.
//
// Context:  cli through daemon/api
// Promises: an event that the block at hand cuts is read again from its beginning with the next one
#include "daemon/import/json_events.hpp"

// With instructions of its own RapidJSON is another library than elsewhere in this program.
#define RAPIDJSON_NAMESPACE gpuprof_import_rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace gpuprof_import_rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace gpuprof::importer {
namespace {

namespace json = gpuprof_import_rapidjson;

constexpr unsigned kFlags = json::kParseInsituFlag | json::kParseStopWhenDoneFlag |
                            json::kParseNumbersAsStringsFlag | json::kParseNanAndInfFlag;
/// Words for numbers that are none, in one event.
constexpr int kMaxRepairs = 10'000;
constexpr std::size_t kProgressEvery = 1024;

struct KeyName {
  std::string_view name;
  Arg arg;
};
constexpr KeyName kKeys[] = {{"External id", Arg::kExternalId},
                             {"external id", Arg::kExternalId},
                             {"correlation", Arg::kCorrelation},
                             {"cbid", Arg::kCbid},
                             {"device", Arg::kDevice},
                             {"stream", Arg::kStream},
                             {"context", Arg::kContext},
                             {"grid", Arg::kGrid},
                             {"block", Arg::kBlock},
                             {"registers per thread", Arg::kRegisters},
                             {"shared memory", Arg::kSharedMemory},
                             {"local memory per thread", Arg::kLocalMemory},
                             {"bytes", Arg::kBytesMoved},
                             {"Sequence number", Arg::kSequence},
                             {"Fwd thread id", Arg::kForwardThread},
                             {"Input Dims", Arg::kDims},
                             {"Input dims", Arg::kDims},
                             {"Input type", Arg::kTypes},
                             {"Concrete Inputs", Arg::kConcrete},
                             {"more inputs", Arg::kMoreInputs},
                             {"Call stack", Arg::kCallStack},
                             {"CallFrom", Arg::kCallFrom},
                             {"Python module id", Arg::kModuleId},
                             {"PyTorch name", Arg::kPyTorchName},
                             {"Device Type", Arg::kDeviceType},
                             {"Device Id", Arg::kDeviceId},
                             {"Addr", Arg::kAddress},
                             {"Bytes", Arg::kBytes},
                             {"Total Allocated", Arg::kTotalAllocated},
                             {"Total Reserved", Arg::kTotalReserved},
                             {"graph id", Arg::kGraph},
                             {"graph node id", Arg::kGraphNode},
                             {"channel", Arg::kChannel},
                             {"fromDevice", Arg::kFromDevice},
                             {"toDevice", Arg::kToDevice},
                             {"priority", Arg::kPriority},
                             {"name", Arg::kName},
                             {"labels", Arg::kLabels},
                             {"domain", Arg::kDomain},
                             {"category", Arg::kCategory},
                             {"payload", Arg::kPayload},
                             {"unfinished", Arg::kUnfinished},
                             {"begin not seen", Arg::kNoBegin},
                             {"source", Arg::kSource},
                             {"confidence", Arg::kConfidence},
                             {"where", Arg::kWhere},
                             {"api", Arg::kApi},
                             {"result", Arg::kResult},
                             {"wait_on_cuda_event_id", Arg::kSyncEvent},
                             {"overhead kind", Arg::kOverheadKind},
                             {"Collective name", Arg::kCollective},
                             {"Process Group Name", Arg::kGroupName},
                             {"Process Group Description", Arg::kGroupDescription},
                             {"Seq", Arg::kSeq}};

/// Keys are many and few: a table by length, first and last letter, searched from there on.
class KeyTable {
 public:
  constexpr KeyTable() {
    for (const KeyName& key : kKeys) {
      std::size_t at = place(key.name);
      while (!rows_[at].name.empty()) at = (at + 1) % kRows;
      rows_[at] = key;
    }
  }
  Arg find(std::string_view name) const {
    if (name.empty()) return Arg::kCount;
    for (std::size_t at = place(name); !rows_[at].name.empty(); at = (at + 1) % kRows)
      if (rows_[at].name == name) return rows_[at].arg;
    return Arg::kCount;
  }

 private:
  static constexpr std::size_t kRows = 512;
  static constexpr std::size_t place(std::string_view name) {
    return (name.size() * 37 + static_cast<unsigned char>(name.front()) * 11 +
            static_cast<unsigned char>(name.back()) * 5) %
           kRows;
  }
  std::array<KeyName, kRows> rows_{};
};
constexpr KeyTable kKeyTable;

/// Refuses depth; takes and forgets the rest.
class Skipper : public json::BaseReaderHandler<json::UTF8<>, Skipper> {
 public:
  bool StartObject() { return ++depth_ <= kMaxDepth; }
  bool StartArray() { return ++depth_ <= kMaxDepth; }
  bool EndObject(json::SizeType) { return --depth_, true; }
  bool EndArray(json::SizeType) { return --depth_, true; }
  bool Default() { return true; }

 private:
  int depth_ = 0;
};

/// Fills a RawEvent.
class EventHandler : public json::BaseReaderHandler<json::UTF8<>, EventHandler> {
 public:
  EventHandler(RawEvent& event, const json::InsituStringStream& stream)
      : e_(event), stream_(stream) {}

  bool StartObject() {
    if (++depth_ == 2) in_args_ = field_ == Field::kArgs;
    if (depth_ > 2) arg_ = Arg::kCount;
    return depth_ <= kMaxDepth;
  }
  bool EndObject(json::SizeType) {
    if (--depth_ == 1) in_args_ = false;
    return true;
  }
  bool StartArray() {
    if (depth_ == 2 && in_args_) begin_array();
    if (tokens_ != nullptr) tokens_->push_back({Token::Form::kOpen, {}});
    return ++depth_ <= kMaxDepth;
  }
  bool EndArray(json::SizeType) {
    --depth_;
    if (tokens_ != nullptr) tokens_->push_back({Token::Form::kClose, {}});
    if (depth_ == 2) end_array();
    return true;
  }
  bool Key(const char* text, json::SizeType bytes, bool) {
    if (depth_ == 1) field_ = field_of({text, bytes});
    if (depth_ == 2 && in_args_) arg_ = kKeyTable.find({text, bytes});
    return true;
  }
  bool String(const char* text, json::SizeType bytes, bool) {
    return value({text, bytes}, RawValue::Form::kText);
  }
  bool RawNumber(const char* text, json::SizeType bytes, bool) {
    return value({text, bytes}, RawValue::Form::kNumber);
  }
  bool Bool(bool is) { return value(is ? "true" : "false", RawValue::Form::kBool); }
  bool Null() { return value({}, RawValue::Form::kNull); }
  bool Default() { return true; }

 private:
  enum class Field { kOther, kPhase, kCategory, kName, kPid, kTid, kTs, kDuration, kId, kArgs };

  static Field field_of(std::string_view key) {
    if (key.size() == 2 && key == "ph") return Field::kPhase;
    if (key.size() == 2 && key == "ts") return Field::kTs;
    if (key.size() == 2 && key == "id") return Field::kId;
    if (key == "cat") return Field::kCategory;
    if (key == "pid") return Field::kPid;
    if (key == "tid") return Field::kTid;
    if (key == "dur") return Field::kDuration;
    if (key == "name") return Field::kName;
    if (key == "args") return Field::kArgs;
    return Field::kOther;
  }

  bool value(std::string_view text, RawValue::Form form) {
    if (depth_ == 1) {
      top_value({text, form});
    } else if (depth_ == 2 && in_args_ && arg_ != Arg::kCount) {
      e_.set(arg_, {text, form});
    } else if (tokens_ != nullptr) {
      tokens_->push_back({form == RawValue::Form::kNumber ? Token::Form::kNumber
                          : form == RawValue::Form::kText ? Token::Form::kText
                                                          : Token::Form::kOther,
                          text});
    } else if (triple_ != nullptr && depth_ == 3 && in_triple_ < 3) {
      (*triple_)[in_triple_++] = integer_of(text);
    }
    return true;
  }

  void top_value(const RawValue& value) {
    const bool text = value.form == RawValue::Form::kText;
    switch (field_) {
      case Field::kPhase:
        if (text) e_.phase = value.text;
        break;
      case Field::kCategory:
        if (text) e_.category = value.text;
        break;
      case Field::kName:
        if (text) e_.name = value.text;
        break;
      case Field::kPid:
        e_.pid = value;
        break;
      case Field::kTid:
        e_.tid = value;
        break;
      case Field::kTs:
        e_.ts = value;
        break;
      case Field::kDuration:
        e_.duration = value;
        break;
      case Field::kId:
        e_.id = value;
        break;
      default:
        break;
    }
  }

  void begin_array() {
    array_from_ = stream_.src_;
    triple_ = nullptr;
    in_triple_ = 0;
    if (arg_ == Arg::kDims) tokens_ = &e_.dims;
    if (arg_ == Arg::kTypes) tokens_ = &e_.types;
    if (arg_ == Arg::kConcrete) tokens_ = &e_.concrete;
    if (arg_ == Arg::kGrid) triple_ = &e_.grid;
    if (arg_ == Arg::kBlock) triple_ = &e_.block;
    if (tokens_ != nullptr) tokens_->clear();
  }
  void end_array() {
    if (tokens_ != nullptr) {
      const std::size_t which = arg_ == Arg::kDims ? 0 : arg_ == Arg::kTypes ? 1 : 2;
      e_.spans[which] = {array_from_, static_cast<std::size_t>(stream_.src_ - array_from_)};
    }
    tokens_ = nullptr;
    triple_ = nullptr;
  }

  RawEvent& e_;
  const json::InsituStringStream& stream_;
  int depth_ = 0;
  bool in_args_ = false;
  Field field_ = Field::kOther;
  Arg arg_ = Arg::kCount;
  std::vector<Token>* tokens_ = nullptr;
  std::array<std::optional<std::int64_t>, 3>* triple_ = nullptr;
  std::size_t in_triple_ = 0;
  const char* array_from_ = nullptr;
};

void clear(RawEvent& e) {
  e.phase = e.category = e.name = {};
  e.pid = e.tid = e.ts = e.duration = e.id = {};
  e.given = 0;
  e.dims.clear();
  e.types.clear();
  e.concrete.clear();
  e.spans.fill({});
  e.grid.fill({});
  e.block.fill({});
}

/// The text of a file as one buffer that slides over it: as it was read, and a copy to parse in.
class Sliding {
 public:
  explicit Sliding(TextSource& source) : source_(source) { more(); }

  /// Reads on, behind what is there from the cursor. False at the end of the file.
  bool more() {
    const std::size_t left = pristine_.size() - at_;
    std::string added = source_.next();
    // A value longer than a block is parsed again only when twice as much of it is there.
    while (!added.empty() && added.size() < left) {
      std::string block = source_.next();
      if (block.empty()) break;
      added += block;
    }
    if (added.empty()) return false;
    passed_ += at_;
    if (left == 0) {
      pristine_ = std::move(added);
    } else {
      pristine_.erase(0, at_);
      pristine_ += added;
    }
    at_ = 0;
    work_.assign(pristine_.begin(), pristine_.end());
    work_.resize(work_.size() + kPadding);
    std::fill(work_.end() - kPadding, work_.end(), '\0');
    return true;
  }

  /// The next character that is no blank; 0 at the end of the file.
  char peek() {
    for (;;) {
      while (at_ < pristine_.size() && pristine_[at_] == ' ') ++at_;
      if (at_ < pristine_.size()) return pristine_[at_];
      if (!more()) return 0;
    }
  }
  void skip(std::size_t bytes = 1) { at_ += bytes; }

  char* work() { return work_.data() + at_; }
  const char* pristine() const { return pristine_.data() + at_; }
  std::size_t left() const { return pristine_.size() - at_; }
  std::uint64_t offset() const { return passed_ + at_; }
  /// Makes the part from the cursor on parsable again.
  void restore(std::size_t bytes) { std::memcpy(work(), pristine(), std::min(bytes, left())); }
  void overwrite(std::size_t at, std::string_view text) {
    pristine_.replace(at_ + at, text.size(), text);
  }

 private:
  static constexpr std::ptrdiff_t kPadding = 64;

  TextSource& source_;
  std::string pristine_;
  std::vector<char> work_;
  std::size_t at_ = 0;
  std::uint64_t passed_ = 0;
};

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
