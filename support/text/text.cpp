// SPDX-License-Identifier: Apache-2.0
//
// Words a person types become numbers, and numbers become words again.
//
// Context:  daemon | cli
#include "support/text/text.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "support/messages/text_values.hpp"

namespace gpuprof::support {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimes[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
constexpr double kKi = 1024;
constexpr Unit kSizes[] = {{"", 1},
                           {"B", 1},
                           {"K", kKi},
                           {"KiB", kKi},
                           {"kB", 1e3},
                           {"KB", 1e3},
                           {"M", kKi* kKi},
                           {"MiB", kKi* kKi},
                           {"MB", 1e6},
                           {"G", kKi* kKi* kKi},
                           {"GiB", kKi* kKi* kKi},
                           {"GB", 1e9},
                           {"T", kKi* kKi* kKi* kKi},
                           {"TiB", kKi* kKi* kKi* kKi},
                           {"TB", 1e12}};
constexpr Unit kCounts[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
// Beyond 2^53 a double is no longer exact, and nobody means such a number.
constexpr double kLargest = 9007199254740992.0;

struct Parsed {
  double number = 0;
  std::string_view unit;
};

bool split_number(std::string_view word, Parsed* out) {
  const bool digit = !word.empty() && word[0] >= '0' && word[0] <= '9';
  if (!digit) return false;
  const char* end = word.data() + word.size();
  const auto [rest, failure] =
      std::from_chars(word.data(), end, out->number, std::chars_format::fixed);
  if (failure != std::errc{}) return false;
  out->unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return true;
}

template <std::size_t N>
Result<std::uint64_t> with_units(std::string_view word, const Unit (&units)[N],
                                 std::string_view right) {
  Parsed parsed;
  if (!split_number(word, &parsed)) {
    return error(fmt::format(messages::text_values::kExpected, right, in_quotes(word)));
  }
  for (const Unit& unit : units) {
    if (unit.name != parsed.unit) continue;
    const double value = parsed.number * unit.factor;
    if (value > kLargest)
      return error(fmt::format(messages::text_values::kTooLarge, in_quotes(word)));
    return static_cast<std::uint64_t>(std::llround(value));
  }
  if (parsed.unit.empty()) {
    return error(fmt::format(messages::text_values::kNoUnit, in_quotes(word), right));
  }
  return error(fmt::format(messages::text_values::kUnknownUnit, in_quotes(parsed.unit),
                           in_quotes(word), right));
}

/// Letters to change, add, leave out, or to swap with their neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above[b.size()];
}

/// U+0080 to U+009F in UTF-8: some terminals obey these, too.
bool is_second_control(std::string_view text) {
  return text.size() > 1 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
         static_cast<unsigned char>(text[1]) < 0xa0;
}

bool plain_for_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
}

}  // namespace

Result<std::uint64_t> parse_duration_ns(std::string_view word) {
  return with_units(word, kTimes, messages::text_values::kDuration);
}

Result<StepsOrTime> parse_quantity(std::string_view word) {
  const bool digits_only =
      !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits_only) {
    GPUPROF_TRY(steps, parse_unsigned(word));
    return StepsOrTime{false, steps};
  }
  Parsed parsed;
  if (split_number(word, &parsed) && parsed.unit.empty()) {
    return error(fmt::format(messages::text_values::kNotWholeSteps, in_quotes(word)));
  }
  auto time = with_units(word, kTimes, messages::text_values::kStepsOrDuration);
  if (!time) return time.error();
  return StepsOrTime{true, time.value()};
}

Result<std::uint64_t> parse_size_bytes(std::string_view word) {
  return with_units(word, kSizes, messages::text_values::kSize);
}

Result<std::uint64_t> parse_count(std::string_view word) {
  return with_units(word, kCounts, messages::text_values::kNumber);
}

Result<std::uint64_t> parse_unsigned(std::string_view word) {
  std::uint64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [rest, failure] = std::from_chars(word.data(), end, value);
  if (failure == std::errc::result_out_of_range) {
    return error(fmt::format(messages::text_values::kTooLarge, in_quotes(word)));
  }
  if (failure != std::errc{} || rest != end) {
    return error(fmt::format(messages::text_values::kNotWhole, in_quotes(word)));
  }
  return value;
}

std::string escape_control_characters(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (is_second_control(text.substr(i))) {
      out += fmt::format("\\x{:02x}\\x{:02x}", byte, static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string sanitize_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool second_set = is_second_control(text.substr(i));
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7f || second_set;
    out += control ? '?' : text[i];
    i += second_set ? 1 : 0;
  }
  return out;
}

std::string in_quotes(std::string_view word) {
  constexpr std::size_t kShown = 120;
  return "'" + escape_control_characters(word.substr(0, kShown)) +
         (word.size() > kShown ? "..." : "") + "'";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t at = text.find(separator);
    words.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return words;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string join_with_and(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  const std::vector<std::string> head(words.begin(), words.end() - 1);
  return join(head, ", ") + " and " + words.back();
}

std::string closest_match(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = closest_match(word, candidates);
  return near.empty() ? "" : fmt::format(messages::text_values::kDidYouMean, near);
}

std::string human_count(std::uint64_t count) {
  if (count < 10'000) return fmt::format("{}", count);
  if (count < 1'000'000) return fmt::format("{:.4g} k", static_cast<double>(count) / 1e3);
  if (count < 1'000'000'000) return fmt::format("{:.4g} M", static_cast<double>(count) / 1e6);
  return fmt::format("{:.4g} G", static_cast<double>(count) / 1e9);
}

std::string count_with_unit(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", human_count(count), count == 1 ? one : many);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string human_duration(std::uint64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.3g} ms", value / 1e6);
  if (ns < 120'000'000'000) return fmt::format("{:.2f} s", value / 1e9);
  return fmt::format("{:.1f} min", value / 60e9);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal)
                         : fmt::format("signal {} (SIG{})", signal, name);
}

std::string shell_join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain_for_shell)) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace gpuprof::support
