// SPDX-License-Identifier: Apache-2.0
//
// mend_text(): a quote ends a text only where what follows can follow a text there.
//
// Context:  cli through analysis/commands
#include "analysis/import/json/string_repair.hpp"

#include <vector>

#include "analysis/import/json/lone_surrogates.hpp"

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
Follows ends_object(std::string_view text, std::size_t at, int depth) {
  at = behind_blanks(text, at + 1);
  if (at == text.size()) return Follows::kMore;
  const char c = text[at];
  if (c == ',' || c == '}' || c == ']') return Follows::kYes;
  return depth <= 1 && c == '{' ? Follows::kYes : Follows::kNo;
}

/// Can a text end with the quote before `at`?
/// @param first  no quote before it was taken as part of the text
Follows can_end(std::string_view text, std::size_t at, TextPlace place, int depth,
                const NamesAllowed& names, bool first) {
  at = behind_blanks(text, at);
  if (at == text.size()) return Follows::kMore;
  const char c = text[at];
  if (place == TextPlace::kName) return c == ':' ? Follows::kYes : Follows::kNo;
  if (place == TextPlace::kElement) {
    if (c == ']') return Follows::kYes;
    if (c != ',') return Follows::kNo;
    const std::size_t next = behind_blanks(text, at + 1);
    if (next == text.size()) return Follows::kMore;
    return begins_value(text[next]) ? Follows::kYes : Follows::kNo;
  }
  if (c == '}') return ends_object(text, at, depth);
  if (c == '"') return names.name_follows(text, at, depth, false);
  if (c != ',') return Follows::kNo;
  const std::size_t next = behind_blanks(text, at + 1);
  if (next == text.size()) return Follows::kMore;
  if (text[next] == '}') return ends_object(text, next, depth);
  return names.name_follows(text, next, depth, first);
}

bool is_escape(char c) {
  return c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' ||
         c == 't';
}

/// A text's characters, each with what it may have meant.
class TextMender {
 public:
  TextMender(std::string_view text, std::size_t at, bool ends, TextPlace place, int depth,
             const NamesAllowed& names)
      : text_(text),
        first_(at),
        at_(at + 1),
        ends_(ends),
        place_(place),
        depth_(depth),
        names_(names) {}

  TextMend run(bool keep_ends) {
    while (!closed_) {
      if (at_ >= text_.size()) return unfinished();
      const char c = text_[at_];
      const Follows step = c == '"' ? quote() : c == '\\' ? backslash() : plain();
      if (step == Follows::kMore) return unfinished();
    }
    return written(keep_ends);
  }

 private:
  struct Escape {
    std::size_t at;
    bool valid;
  };

  Follows plain() { return ++at_, Follows::kYes; }

  /// Without anything behind it, the file's end is what follows.
  Follows ends_here(std::size_t behind) const {
    const Follows ends = can_end(text_, behind, place_, depth_, names_, quotes_.empty());
    return ends == Follows::kMore && ends_ ? Follows::kYes : ends;
  }

  Follows quote() {
    const Follows ends = ends_here(at_ + 1);
    if (ends == Follows::kMore) return ends;
    if (ends == Follows::kYes) {
      closed_ = true;
    } else {
      // A member in a list: it is the list that has no end.
      const std::size_t next = behind_blanks(text_, at_ + 1);
      is_name_ = is_name_ || (place_ == TextPlace::kElement && quotes_.empty() &&
                              next < text_.size() && text_[next] == ':');
      quotes_.push_back(at_);
    }
    return ++at_, Follows::kYes;
  }

  /// Where two events meet within the text; none: nowhere.
  std::size_t border() const {
    for (std::size_t at = text_.find('}', first_); at < at_; at = text_.find('}', at + 1)) {
      std::size_t next = behind_blanks(text_, at + 1);
      if (next >= at_ || text_[next] != ',') continue;
      next = behind_blanks(text_, next + 1);
      if (next < at_ && text_[next] == '{' &&
          NamesAllowed(Damaged::kEvent).name_follows(text_, next + 1, 1, false) == Follows::kYes)
        return at;
    }
    return std::string_view::npos;
  }

  Follows backslash() {
    if (at_ + 1 >= text_.size()) return Follows::kMore;
    const char c = text_[at_ + 1];
    if (c == '"') {
      // `C:\temp\` ends so where nothing was escaped.
      const Follows ends = ends_here(at_ + 2);
      if (ends == Follows::kMore) return ends;
      if (ends == Follows::kYes) {
        escapes_.push_back({at_, false});
        return ++at_, Follows::kYes;
      }
    }
    if (c == 'u') {
      if (at_ + 6 > text_.size() && !ends_) return Follows::kMore;
      const bool valid = unicode_escape(text_.substr(at_)).has_value();
      escapes_.push_back({at_, valid});
      at_ += valid ? 6 : 1;
      return Follows::kYes;
    }
    escapes_.push_back({at_, is_escape(c)});
    at_ += is_escape(c) ? 2 : 1;
    return Follows::kYes;
  }

  TextMend unfinished() const {
    TextMend result;
    result.state = ends_ ? Mended::State::kHopeless : Mended::State::kMore;
    result.at = ends_ ? first_ : text_.size();
    result.wrong = "a text begins that does not end";
    return result;
  }

  TextMend written(bool keep_ends) const {
    TextMend result;
    result.at = at_;
    // Twice quoted: `""word""`.
    const bool twice = quotes_.size() == 2 && quotes_[0] == first_ + 1 && quotes_[1] == at_ - 2;
    const bool certain = place_ == TextPlace::kMember && depth_ <= 1;
    if ((!certain && quotes_.size() % 2 != 0) || is_name_) {
      result.at = quotes_.front();
      result.wrong = is_name_ ? std::string_view("a member stands in a list")
                              : "a quote stands in a text, and where the text ends is not certain";
      return result;
    }
    if (const std::size_t at = quotes_.empty() ? text_.npos : border(); at != text_.npos) {
      result.at = at;
      result.wrong = "two events meet within what would be one text";
      return result;
    }
    result.state = Mended::State::kMended;
    result.quotes = static_cast<std::uint32_t>(quotes_.size());
    write(result, twice, keep_ends);
    return result;
  }

  void write(TextMend& result, bool twice, bool keep_ends) const {
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
  TextPlace place_;
  int depth_;
  const NamesAllowed& names_;
  std::vector<std::size_t> quotes_;
  std::vector<Escape> escapes_;
  bool closed_ = false, is_name_ = false;
};

}  // namespace

Follows NamesAllowed::name_follows(std::string_view text, std::size_t at, int depth,
                                   bool any) const {
  at = behind_blanks(text, at);
  if (at == text.size()) return Follows::kMore;
  if (text[at] != '"') return Follows::kNo;
  std::size_t to = text.find_first_of("\"\\{}[]", at + 1);
  while (to != text.npos && unicode_escape(text.substr(to)))
    to = text.find_first_of("\"\\{}[]", to + 6);
  if (to == text.npos) return text.size() - at > kMaxNameBytes ? Follows::kNo : Follows::kMore;
  if (text[to] != '"' || to == at + 1 || to - at > kMaxNameBytes) return Follows::kNo;
  const std::size_t colon = behind_blanks(text, to + 1);
  if (colon == text.size()) return Follows::kMore;
  if (text[colon] != ':') return Follows::kNo;
  if (any || what_ != Damaged::kEvent || depth != 1) return Follows::kYes;
  const std::string_view name = text.substr(at + 1, to - at - 1);
  for (const std::string_view known : kEventNames)
    if (known == name) return Follows::kYes;
  return Follows::kNo;
}

TextMend mend_text(std::string_view text, std::size_t at, bool ends, TextPlace place, int depth,
                   const NamesAllowed& names, bool keep_ends) {
  return TextMender(text, at, ends, place, depth, names).run(keep_ends);
}

}  // namespace gpuprof::importer
