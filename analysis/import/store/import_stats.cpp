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
    {"unknown-kind", "of a kind that is not read", ""},
    {"no-time", "without a time or length that can be read", ""},
    {"far-time", "at a time that does not belong to the rest", ""},
    {"outside-window", "at a time outside the window that the file states", ""},
    {"half", "a begin without its end or an end without its begin", ""},
    {"out-of-order", "earlier than the event before it on a row that is read in order", ""},
    {"no-details", "without what an event of its kind must tell", ""},
    {"no-work", "an instant, a level or a figure of a device", ""},
    {"no-event", "no event but another value", ""},
};
constexpr Phrase kMendingPhrases[] = {
    {"backslash", "backslash that stands alone in a text", "backslashes that stand alone in texts"},
    {"quote", "text with quotes in it that lack a backslash",
     "texts with quotes in them that lack a backslash"},
    {"decimal-comma", "number with a decimal comma", "numbers with a decimal comma"},
    {"no-number", "word for no number (inf, nan, …)", "words for no number (inf, nan, …)"},
    {"missing-value", "member without a value", "members without a value"},
    {"comma", "comma too many or too few", "commas too many or too few"},
    {"surrogate", "half of a UTF-16 pair", "halves of UTF-16 pairs"},
    {"negative-length", "negative length, taken as 0", "negative lengths, taken as 0"},
    {"nul-byte", "NUL byte, which no writer writes: what stood there is lost",
     "NUL bytes, which no writer writes: what stood there is lost"},
    {"no-end", "list of events without its end: the file may have been cut short", ""},
    {"absurd-bytes", "size of a copy or set that cannot be, taken as not known",
     "sizes of copies or sets that cannot be, taken as not known"},
};
static_assert(std::size(kReasonPhrases) == static_cast<std::size_t>(SkipReason::kCount));
static_assert(std::size(kMendingPhrases) == static_cast<std::size_t>(RepairKind::kCount));

const Phrase& phrases_of(SkipReason reason) {
  return kReasonPhrases[static_cast<std::size_t>(reason)];
}
const Phrase& phrases_of(RepairKind mending) {
  return kMendingPhrases[static_cast<std::size_t>(mending)];
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
    messages.push_back(fmt::format("{} of {} {} left out, {}: {}",
                                   support::count_with_unit(count, "event", "events"), path,
                                   count == 1 ? "is" : "are", phrase_of(reason),
                                   format_categories(account.count_skipped(reason))));
    if (reason == SkipReason::kTimeOutlier) messages.back() += " " + far_times;
  }
  std::vector<std::string> repairs;
  for (const RepairKind mending : kRepairKinds)
    if (const std::uint64_t count = account.count_repairs(mending); count != 0)
      repairs.push_back(phrase_of(mending, count));
  if (!repairs.empty())
    messages.push_back(fmt::format("mended in {}: {}", path, support::join(repairs, ", ")));
  return messages;
}

std::string empty_trace_message(const ImportStats& account) {
  if (account.events() == 0) return "is a trace without events";
  const auto& timeless = account.count_skipped(SkipReason::kNoTime);
  if (!timeless.empty() && ImportStats::sum(timeless) == account.total_skipped())
    return fmt::format(
        "has no event with a time and length that can be read (the largest is 2^63 ns; {}): it is "
        "damaged, or of another kind",
        format_categories(timeless));
  const auto& kinds = account.count_skipped(SkipReason::kUnknownKind);
  if (!kinds.empty() && ImportStats::sum(kinds) == account.total_skipped())
    return fmt::format(
        "is a trace of something else: none of its events is of a "
        "kind that PyTorch's profiler or gpuprof writes (they are {})",
        format_categories(kinds));
  if (account.total_skipped() == 0)
    return fmt::format(
        "has nothing to show: it holds arrows and marks of the recording alone, no operator, GPU "
        "work or sample ({})",
        format_categories(account.count_duplicates()));
  std::vector<std::string> why;
  for (const SkipReason reason : kSkipReasons)
    if (const auto& those = account.count_skipped(reason); !those.empty())
      why.push_back(fmt::format("{} ({})", phrase_of(reason), format_categories(those)));
  return fmt::format("has nothing to show: its events are left out, {}", support::join(why, "; "));
}

std::string not_traces_message(const std::vector<std::pair<std::string, std::string>>& files,
                               bool beside_traces) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> named;
  for (const auto& [path, what] : files)
    if (named.size() < kNamed)
      named.push_back(
          fmt::format("{} ({})", beside_traces ? path.substr(path.rfind('/') + 1) : path, what));
  return fmt::format(
      "{} not read as {}: {}{}",
      support::count_with_unit(files.size(), "file of the folder is", "files of the folder are"),
      files.size() == 1 ? "a trace" : "traces", support::join(named, "; "),
      files.size() > kNamed ? "; …" : "");
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
