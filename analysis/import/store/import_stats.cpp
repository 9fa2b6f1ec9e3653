// SPDX-License-Identifier: Apache-2.0
//
// Account: counts by kind, and their words.
//
// Context:  cli through analysis/commands
#include "analysis/import/store/import_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/messages/import_events.hpp"
#include "analysis/messages/import_files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kMaxKinds = 1000;
constexpr std::size_t kMaxKindBytes = 80;
constexpr std::size_t kNamedKinds = 5;
constexpr std::string_view kOthers = "(others)";

struct Phrase {
  std::string_view key, one, many;  // of mendings: what one and several are
};

constexpr Phrase kReasonPhrases[] = {
    {"unknown-kind", "unknown category or phase", ""},
    {"no-time", "no valid time or duration", ""},
    {"far-time", "time far from the rest", ""},
    {"outside-window", "time outside the window that the file states", ""},
    {"half", "begin without end, or end without begin", ""},
    {"out-of-order", "earlier than the event before it in a row that is read in order", ""},
    {"no-details", "without a value that its kind requires", ""},
    {"no-work", "instant, counter or device value", ""},
    {"no-event", "not an event", ""},
};
constexpr Phrase kMendingPhrases[] = {
    {"backslash", "unescaped backslash in a string", "unescaped backslashes in strings"},
    {"quote", "string with unescaped quotes", "strings with unescaped quotes"},
    {"decimal-comma", "number with a decimal comma", "numbers with a decimal comma"},
    {"no-number", "word instead of a number (inf, nan, …)",
     "words instead of numbers (inf, nan, …)"},
    {"missing-value", "member without a value", "members without a value"},
    {"comma", "missing or extra comma", "missing or extra commas"},
    {"surrogate", "unpaired UTF-16 surrogate", "unpaired UTF-16 surrogates"},
    {"negative-length", "negative duration (read as 0)", "negative durations (read as 0)"},
    {"nul-byte", "NUL byte (the text in its place is lost)",
     "NUL bytes (the text in their place is lost)"},
    {"no-end", "event list without an end (the file may be truncated)", ""},
    {"absurd-bytes", "implausible size of a copy or memset (read as unknown)",
     "implausible sizes of copies or memsets (read as unknown)"},
};
static_assert(std::size(kReasonPhrases) == static_cast<std::size_t>(SkipReason::kCount));
static_assert(std::size(kMendingPhrases) == static_cast<std::size_t>(RepairKind::kCount));

const Phrase& phrases_of(SkipReason reason) {
  return kReasonPhrases[static_cast<std::size_t>(reason)];
}
const Phrase& phrases_of(RepairKind mending) {
  return kMendingPhrases[static_cast<std::size_t>(mending)];
}

std::string skipped_message(const std::string& path, SkipReason reason, std::uint64_t count,
                            const ImportStats::Kinds& kinds) {
  const std::string events = support::count_with_unit(count, "event", "events");
  const std::string categories = format_categories(kinds);
  return count == 1 ? fmt::format(messages::import_events::kEventSkipped, events, path,
                                  phrase_of(reason), categories)
                    : fmt::format(messages::import_events::kEventsSkipped, events, path,
                                  phrase_of(reason), categories);
}

}  // namespace

std::string_view phrase_of(SkipReason reason) { return phrases_of(reason).one; }
std::string_view key_of(SkipReason reason) { return phrases_of(reason).key; }
std::string_view key_of(RepairKind mending) { return phrases_of(mending).key; }
std::string phrase_of(RepairKind mending, std::uint64_t count) {
  return support::count_with_unit(count, phrases_of(mending).one, phrases_of(mending).many);
}

void ImportStats::add(Kinds& kinds, std::string_view kind, std::uint64_t events) {
  kind = kind.substr(0, kMaxKindBytes);
  const auto known = kinds.find(kind);
  if (known != kinds.end()) {
    known->second += events;
  } else {
    kinds[std::string(kinds.size() < kMaxKinds ? kind : kOthers)] += events;
  }
}

std::uint64_t ImportStats::sum(const Kinds& kinds) {
  std::uint64_t all = 0;
  for (const auto& [kind, count] : kinds) all += count;
  return all;
}

std::uint64_t ImportStats::total_skipped() const {
  std::uint64_t all = 0;
  for (const Kinds& kinds : skipped_) all += sum(kinds);
  return all;
}

std::vector<std::string> import_messages(const std::string& path, const ImportStats& account,
                                         const std::string& far_times) {
  std::vector<std::string> messages;
  for (const SkipReason reason : kSkipReasons) {
    const std::uint64_t count = ImportStats::sum(account.count_skipped(reason));
    if (count == 0) continue;
    messages.push_back(skipped_message(path, reason, count, account.count_skipped(reason)));
    if (reason == SkipReason::kTimeOutlier) messages.back() += far_times;
  }
  std::vector<std::string> repairs;
  for (const RepairKind mending : kRepairKinds)
    if (const std::uint64_t count = account.count_repairs(mending); count != 0)
      repairs.push_back(phrase_of(mending, count));
  if (!repairs.empty())
    messages.push_back(
        fmt::format(messages::import_events::kRepaired, path, support::join(repairs, ", ")));
  return messages;
}

std::string empty_trace_message(const ImportStats& account) {
  if (account.events() == 0) return messages::import_events::kNoEvents;
  const auto& timeless = account.count_skipped(SkipReason::kNoTime);
  if (!timeless.empty() && ImportStats::sum(timeless) == account.total_skipped())
    return fmt::format(messages::import_events::kNoTimes, format_categories(timeless));
  const auto& kinds = account.count_skipped(SkipReason::kUnknownKind);
  if (!kinds.empty() && ImportStats::sum(kinds) == account.total_skipped())
    return fmt::format(messages::import_events::kOtherTool, format_categories(kinds));
  if (account.total_skipped() == 0)
    return fmt::format(messages::import_events::kMarksOnly,
                       format_categories(account.count_duplicates()));
  std::vector<std::string> why;
  for (const SkipReason reason : kSkipReasons)
    if (const auto& those = account.count_skipped(reason); !those.empty())
      why.push_back(fmt::format("{} ({})", phrase_of(reason), format_categories(those)));
  return fmt::format(messages::import_events::kAllSkipped, support::join(why, "; "));
}

std::string not_traces_message(const std::vector<std::pair<std::string, std::string>>& files,
                               bool beside_traces) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> named;
  for (const auto& [path, what] : files)
    if (named.size() < kNamed)
      named.push_back(
          fmt::format("{} ({})", beside_traces ? path.substr(path.rfind('/') + 1) : path, what));
  const std::string number = support::human_count(files.size());
  const std::string names = support::join(named, "; ") + (files.size() > kNamed ? "; …" : "");
  return files.size() == 1 ? fmt::format(messages::import_files::kFileNotRead, number, names)
                           : fmt::format(messages::import_files::kFilesNotRead, number, names);
}

std::string format_categories(const ImportStats::Kinds& kinds) {
  std::vector<std::pair<std::uint64_t, std::string_view>> sorted;
  for (const auto& [kind, count] : kinds) sorted.emplace_back(count, kind);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> named;
  for (const auto& [count, kind] : sorted)
    if (named.size() < kNamedKinds)
      named.push_back(fmt::format("{} of {}", count, support::in_quotes(kind)));
  return support::join(named, ", ") + (sorted.size() > kNamedKinds ? ", …" : "");
}

}  // namespace gpuprof::importer
