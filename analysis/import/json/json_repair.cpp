// SPDX-License-Identifier: Apache-2.0
//
// repair(): a walk over the value, with a stack of what is open.
//
// Context:  cli through analysis/commands
#include "analysis/import/json/json_repair.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "analysis/import/json/json_events.hpp"
#include "analysis/import/json/string_repair.hpp"
#include "analysis/messages/import_json.hpp"

namespace gpuprof::importer {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return out;
}

/// As JSON has it.
bool is_number(std::string_view word) {
  std::size_t at = word.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < word.size() && is_digit(word[at])) ++at;
    return at - from;
  };
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && word[at - whole] == '0')) return false;
  if (at < word.size() && word[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == word.size();
}

/// No parser takes it.
bool is_too_large(std::string_view number) {
  return std::isinf(std::strtod(std::string(number).c_str(), nullptr));
}

class JsonRepairer {
 public:
  JsonRepairer(std::string_view text, bool ends, DamagedValue what)
      : text_(text),
        ends_(ends),
        root_(what == DamagedValue::kName ? StringContext::kName : StringContext::kRoot),
        event_(what == DamagedValue::kEvent),
        names_(what) {}

  RepairResult run() {
    value();
    while (going() && !open_.empty()) next();
    if (going()) {
      result_.state = RepairResult::State::kRepaired;
      result_.bytes = at_;
    }
    return std::move(result_);
  }

 private:
  struct Open {
    bool object;
    bool first = true;
    bool quotes = false;  // a text in it had some: no name may come twice
    std::vector<std::string> names{};
  };

  bool going() const { return !stopped_; }
  void stop(RepairResult::State state, std::string_view wrong = {}) {
    stopped_ = true;
    result_.state = state;
    result_.at = std::min(at_, text_.size());
    result_.wrong = wrong;
  }
  /// The text ends here.
  void more() {
    stop(ends_ ? RepairResult::State::kUnrepairable : RepairResult::State::kNeedsMoreText,
         messages::import_json::kTextEnds);
  }
  void count(RepairKind mending, std::uint32_t places = 1) {
    result_.places[static_cast<std::size_t>(mending)] += places;
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') take();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void take(std::size_t bytes = 1) {
    result_.text.append(text_, at_, bytes);
    at_ += bytes;
  }

  /// What comes in the innermost object or array.
  void next() {
    Open& in = open_.back();
    const char closing = in.object ? '}' : ']';
    char c = peek();
    if (c == '\0') return more();
    if (c == closing) return close();
    if (!in.first) {
      if (c == ',') {
        const std::size_t comma = result_.text.size();
        take();
        for (c = peek(); in.object && c == ','; c = peek()) {
          ++at_;
          count(RepairKind::kComma);
        }
        if (c == '\0') return more();
        if (c == closing) {
          result_.text.erase(comma, 1);
          count(RepairKind::kComma);
          return close();
        }
      } else if (in.object && c == '"' &&
                 names_.key_follows(text_, at_, depth(), false) == Lookahead::kYes) {
        result_.text += ',';
        count(RepairKind::kComma);
      } else {
        return stop(RepairResult::State::kUnrepairable, messages::import_json::kExpectedCommaOrEnd);
      }
    }
    in.first = false;
    if (in.object) return member();
    value();
  }

  void close() {
    take();
    const bool quotes = open_.back().quotes;
    auto names = std::move(open_.back().names);
    open_.pop_back();
    if (!quotes) return;
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end())
      stop(RepairResult::State::kUnrepairable, messages::import_json::kRepeatedName);
  }

  int depth() const { return static_cast<int>(open_.size()); }

  void member() {
    if (peek() != '"')
      return stop(RepairResult::State::kUnrepairable, messages::import_json::kExpectedName);
    const std::size_t from = at_ + 1;
    text(StringContext::kName);
    if (!going()) return;
    name_ = text_.substr(from, at_ - 1 - from);
    open_.back().names.emplace_back(name_);
    const char c = peek();
    if (c == '\0') return more();
    if (c != ':')
      return stop(RepairResult::State::kUnrepairable, messages::import_json::kExpectedColon);
    take();
    value();
  }

  void value() {
    const char c = peek();
    if (c == '\0') return more();
    if (c == '{' || c == '[') {
      if (depth() >= kMaxDepth)
        return stop(RepairResult::State::kUnrepairable, messages::import_json::kNestedTooDeeply);
      take();
      open_.push_back({c == '{'});
      return;
    }
    if (c == '"') return text(place());
    word();
  }

  StringContext place() const {
    if (open_.empty()) return root_;
    return open_.back().object ? StringContext::kMember : StringContext::kElement;
  }

  void text(StringContext place) {
    const StringRepair repaired =
        repair_string(text_, at_, ends_, place, depth(), names_,
                      name_ == "Call stack" && place == StringContext::kMember);
    if (repaired.state != RepairResult::State::kRepaired) {
      at_ = repaired.at;
      return repaired.state == RepairResult::State::kNeedsMoreText
                 ? more()
                 : stop(repaired.state, repaired.wrong);
    }
    count(RepairKind::kBackslash, repaired.backslashes);
    if (repaired.quotes != 0) {
      // Of an event's own members only names come from programs.
      if (event_ && depth() == 1 && place == StringContext::kMember && name_ != "name")
        return stop(RepairResult::State::kUnrepairable, messages::import_json::kMisplacedQuote);
      count(RepairKind::kQuote);
      for (Open& open : open_) open.quotes = true;
    }
    result_.text += repaired.text;
    at_ = repaired.at;
  }

  /// What is no text, object or array.
  void word() {
    std::size_t to = at_;
    while (to < text_.size() && text_[to] != ',' && text_[to] != '}' && text_[to] != ']' &&
           text_[to] != ' ')
      ++to;
    if (to == text_.size() && !open_.empty()) return more();
    const std::string_view word = text_.substr(at_, to - at_);
    if (word.empty()) {
      if (place() != StringContext::kMember)
        return stop(RepairResult::State::kUnrepairable, messages::import_json::kExpectedValue);
      result_.text += "null";
      return count(RepairKind::kMissingValue);
    }
    if (word == "true" || word == "false" || word == "null") return take(word.size());
    const bool number = is_number(word);
    if (number && !is_too_large(word)) {
      take(word.size());
      return decimal_comma(word);
    }
    if (number || is_not_a_number(word)) {
      result_.text += "null";
      at_ = to;
      return count(RepairKind::kNotANumber);
    }
    stop(RepairResult::State::kUnrepairable, messages::import_json::kExpectedValue);
  }

  /// `3,5` in an object: what follows a comma there is a name, never a digit.
  void decimal_comma(std::string_view whole) {
    if (place() != StringContext::kMember || at_ + 1 >= text_.size()) return;
    if (text_[at_] != ',' || !is_digit(text_[at_ + 1])) return;
    if (whole.find_first_of(".eE") != whole.npos) return;
    std::size_t to = at_ + 1;
    while (to < text_.size() &&
           (is_digit(text_[to]) || text_[to] == 'e' || text_[to] == 'E' ||
            ((text_[to] == '-' || text_[to] == '+') && !is_digit(text_[to - 1]))))
      ++to;
    if (to == text_.size()) return more();
    const std::string number =
        std::string(whole) + "." + std::string(text_.substr(at_ + 1, to - at_ - 1));
    if (!is_number(number)) return;
    result_.text += number.substr(whole.size());
    at_ = to;
    count(RepairKind::kDecimalComma);
  }

  std::string_view text_;
  bool ends_;
  StringContext root_;
  bool event_;
  AllowedKeys names_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::string_view name_;
  bool stopped_ = false;
  RepairResult result_;
};

}  // namespace

bool is_not_a_number(std::string_view word) {
  std::string text = lower_case(word);
  if (text.starts_with('+') || text.starts_with('-')) text.erase(0, 1);
  if (text.starts_with("nan(") && text.ends_with(')'))
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", 4) == text.size() - 1;
  // As runtimes of Microsoft write them, with the digits that were asked for.
  for (const std::string_view begin : {"1.#inf", "1.#ind", "1.#qnan", "1.#snan"})
    if (text.starts_with(begin)) return text.find_first_not_of('0', begin.size()) == text.npos;
  for (const std::string_view known :
       {"inf", "infinity", "nan", "n/a", "na", "none", "undefined", "1.#j", "nil"})
    if (text == known) return true;
  return false;
}

RepairResult repair_value(std::string_view text, bool ends, DamagedValue what) {
  return JsonRepairer(text, ends, what).run();
}

}  // namespace gpuprof::importer
