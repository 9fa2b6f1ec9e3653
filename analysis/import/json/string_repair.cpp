// SPDX-License-Identifier: Apache-2.0
//
// repair_string(): a quote ends a text only where what follows can follow a text there.
//
// Context:  cli through analysis/commands
#include "analysis/import/json/string_repair.hpp"

#include <vector>

#include "analysis/import/json/lone_surrogates.hpp"
#include "analysis/messages/import_json.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kMaxNameBytes = 100;

/// Members of an event that Chrome's format or Kineto knows.
constexpr std::string_view kEventNames[] = {
    "ph",  "cat",  "name",  "pid",   "tid",   "ts",      "dur",     "args",
    "id",  "id2",  "bp",    "s",     "sf",    "esf",     "stack",   "estack",
    "tts", "tdur", "cname", "scope", "local", "bind_id", "flow_in", "flow_out"};

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

/// May what stands at `at` begin a value of an array?
bool begins_value(char c) {
  return c == '"' || c == '[' || c == '{' || c == '-' || (c >= '0' && c <= '9') || c == 't' ||
         c == 'f' || c == 'n' || c == 'N' || c == 'I' || c == 'i';
}

/// Is a brace at `at` the end of an object there, and not part of a text?
Lookahead ends_object(std::string_view text, std::size_t at, int depth) {
  at = behind_blanks(text, at + 1);
  if (at == text.size()) return Lookahead::kMore;
  const char c = text[at];
  if (c == ',' || c == '}' || c == ']') return Lookahead::kYes;
  return depth <= 1 && c == '{' ? Lookahead::kYes : Lookahead::kNo;
}

/// Can a text end with the quote before `at`?
/// @param first  no quote before it was taken as part of the text
Lookahead can_end(std::string_view text, std::size_t at, StringContext place, int depth,
                  const AllowedKeys& names, bool first) {
  at = behind_blanks(text, at);
  if (at == text.size()) return Lookahead::kMore;
  const char c = text[at];
  if (place == StringContext::kName) return c == ':' ? Lookahead::kYes : Lookahead::kNo;
  if (place == StringContext::kElement) {
    if (c == ']') return Lookahead::kYes;
    if (c != ',') return Lookahead::kNo;
    const std::size_t next = behind_blanks(text, at + 1);
    if (next == text.size()) return Lookahead::kMore;
    return begins_value(text[next]) ? Lookahead::kYes : Lookahead::kNo;
  }
  if (c == '}') return ends_object(text, at, depth);
  if (c == '"') return names.key_follows(text, at, depth, false);
  if (c != ',') return Lookahead::kNo;
  const std::size_t next = behind_blanks(text, at + 1);
  if (next == text.size()) return Lookahead::kMore;
  if (text[next] == '}') return ends_object(text, next, depth);
  return names.key_follows(text, next, depth, first);
}

bool is_escape(char c) {
  return c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' ||
         c == 't';
}

/// A text's characters, each with what it may have meant.
class StringRepairer {
 public:
  StringRepairer(std::string_view text, std::size_t at, bool ends, StringContext place, int depth,
                 const AllowedKeys& names)
      : text_(text),
        first_(at),
        at_(at + 1),
        ends_(ends),
        place_(place),
        depth_(depth),
        names_(names) {}

  StringRepair run(bool keep_ends) {
    while (!closed_) {
      if (at_ >= text_.size()) return unfinished();
      const char c = text_[at_];
      const Lookahead step = c == '"' ? quote() : c == '\\' ? backslash() : plain();
      if (step == Lookahead::kMore) return unfinished();
    }
    return written(keep_ends);
  }

 private:
  struct Escape {
    std::size_t at;
    bool valid;
  };

  Lookahead plain() { return ++at_, Lookahead::kYes; }

  /// Without anything behind it, the file's end is what follows.
  Lookahead ends_here(std::size_t behind) const {
    const Lookahead ends = can_end(text_, behind, place_, depth_, names_, quotes_.empty());
    return ends == Lookahead::kMore && ends_ ? Lookahead::kYes : ends;
  }

  Lookahead quote() {
    const Lookahead ends = ends_here(at_ + 1);
    if (ends == Lookahead::kMore) return ends;
    if (ends == Lookahead::kYes) {
      closed_ = true;
    } else {
      // A member in a list: it is the list that has no end.
      const std::size_t next = behind_blanks(text_, at_ + 1);
      is_name_ = is_name_ || (place_ == StringContext::kElement && quotes_.empty() &&
                              next < text_.size() && text_[next] == ':');
      quotes_.push_back(at_);
    }
    return ++at_, Lookahead::kYes;
  }

  /// Where two events meet within the text; none: nowhere.
  std::size_t boundary() const {
    for (std::size_t at = text_.find('}', first_); at < at_; at = text_.find('}', at + 1)) {
      std::size_t next = behind_blanks(text_, at + 1);
      if (next >= at_ || text_[next] != ',') continue;
      next = behind_blanks(text_, next + 1);
      if (next < at_ && text_[next] == '{' &&
          AllowedKeys(DamagedValue::kEvent).key_follows(text_, next + 1, 1, false) ==
              Lookahead::kYes)
        return at;
    }
    return std::string_view::npos;
  }

  Lookahead backslash() {
    if (at_ + 1 >= text_.size()) return Lookahead::kMore;
    const char c = text_[at_ + 1];
    if (c == '"') {
      // `C:\temp\` ends so where nothing was escaped.
      const Lookahead ends = ends_here(at_ + 2);
      if (ends == Lookahead::kMore) return ends;
      if (ends == Lookahead::kYes) {
        escapes_.push_back({at_, false});
        return ++at_, Lookahead::kYes;
      }
    }
    if (c == 'u') {
      if (at_ + 6 > text_.size() && !ends_) return Lookahead::kMore;
      const bool valid = unicode_escape(text_.substr(at_)).has_value();
      escapes_.push_back({at_, valid});
      at_ += valid ? 6 : 1;
      return Lookahead::kYes;
    }
    escapes_.push_back({at_, is_escape(c)});
    at_ += is_escape(c) ? 2 : 1;
    return Lookahead::kYes;
  }

  StringRepair unfinished() const {
    StringRepair result;
    result.state = ends_ ? RepairResult::State::kUnrepairable : RepairResult::State::kNeedsMoreText;
    result.at = ends_ ? first_ : text_.size();
    result.wrong = messages::import_json::kUnterminatedString;
    return result;
  }

  StringRepair written(bool keep_ends) const {
    StringRepair result;
    result.at = at_;
    // Twice quoted: `""word""`.
    const bool twice = quotes_.size() == 2 && quotes_[0] == first_ + 1 && quotes_[1] == at_ - 2;
    const bool certain = place_ == StringContext::kMember && depth_ <= 1;
    if ((!certain && quotes_.size() % 2 != 0) || is_name_) {
      result.at = quotes_.front();
      result.wrong =
          is_name_ ? messages::import_json::kMemberInList : messages::import_json::kAmbiguousQuote;
      return result;
    }
    if (const std::size_t at = quotes_.empty() ? text_.npos : boundary(); at != text_.npos) {
      result.at = at;
      result.wrong = messages::import_json::kStringOverEvents;
      return result;
    }
    result.state = RepairResult::State::kRepaired;
    result.quotes = static_cast<std::uint32_t>(quotes_.size());
    write(result, twice, keep_ends);
    return result;
  }

  void write(StringRepair& result, bool twice, bool keep_ends) const {
    bool raw = false;  // a backslash that escapes nothing tells that none does
    for (const Escape& escape : escapes_) raw = raw || !escape.valid;
    std::size_t from = first_;
    const auto copy_to = [&](std::size_t to) {
      result.text.append(text_, from, to - from);
      from = to;
    };
    std::size_t q = 0, e = 0;
    while (q < quotes_.size() || e < escapes_.size()) {
      const bool is_quote =
          e == escapes_.size() || (q < quotes_.size() && quotes_[q] < escapes_[e].at);
      const std::size_t here = is_quote ? quotes_[q++] : escapes_[e].at;
      copy_to(here);
      if (is_quote) {
        if (twice) ++from;
        if (!twice) result.text += '\\';
        continue;
      }
      const Escape escape = escapes_[e++];
      const char c = text_[escape.at + 1];
      const bool meant = escape.valid && (c == '"' || c == '\\' || (c == 'n' && keep_ends));
      if (!raw || meant) continue;
      result.text += '\\';
      ++result.backslashes;
    }
    copy_to(at_);
  }

  std::string_view text_;
  std::size_t first_, at_;
  bool ends_;
  StringContext place_;
  int depth_;
  const AllowedKeys& names_;
  std::vector<std::size_t> quotes_;
  std::vector<Escape> escapes_;
  bool closed_ = false, is_name_ = false;
};

}  // namespace

Lookahead AllowedKeys::key_follows(std::string_view text, std::size_t at, int depth,
                                   bool any) const {
  at = behind_blanks(text, at);
  if (at == text.size()) return Lookahead::kMore;
  if (text[at] != '"') return Lookahead::kNo;
  std::size_t to = text.find_first_of("\"\\{}[]", at + 1);
  while (to != text.npos && unicode_escape(text.substr(to)))
    to = text.find_first_of("\"\\{}[]", to + 6);
  if (to == text.npos) return text.size() - at > kMaxNameBytes ? Lookahead::kNo : Lookahead::kMore;
  if (text[to] != '"' || to == at + 1 || to - at > kMaxNameBytes) return Lookahead::kNo;
  const std::size_t colon = behind_blanks(text, to + 1);
  if (colon == text.size()) return Lookahead::kMore;
  if (text[colon] != ':') return Lookahead::kNo;
  if (any || what_ != DamagedValue::kEvent || depth != 1) return Lookahead::kYes;
  const std::string_view name = text.substr(at + 1, to - at - 1);
  for (const std::string_view known : kEventNames)
    if (known == name) return Lookahead::kYes;
  return Lookahead::kNo;
}

StringRepair repair_string(std::string_view text, std::size_t at, bool ends, StringContext place,
                           int depth, const AllowedKeys& names, bool keep_ends) {
  return StringRepairer(text, at, ends, place, depth, names).run(keep_ends);
}

}  // namespace gpuprof::importer
