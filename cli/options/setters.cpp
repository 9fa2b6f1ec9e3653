// SPDX-License-Identifier: Apache-2.0
//
// One function for each option: a word in, a field of Options or a sentence out.
//
// Context:  cli
#include "cli/options/setters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/commands/formats.hpp"
#include "cli/messages/options_values.hpp"
#include "cli/options/option_table.hpp"
#include "recording/session/overhead_limit.hpp"
#include "recording/session/step_spec.hpp"
#include "recording/session/trace_categories.hpp"
#include "support/io/listen_address.hpp"

namespace gpuprof::cli::set {
namespace {

using support::error;
using support::in_quotes;

constexpr std::uint64_t kMaxRateHz = 1000;
constexpr std::uint64_t kMaxBufferBytes = 64ULL << 20;
constexpr std::uint64_t kMinBufferBytes = 1ULL << 20;
constexpr std::uint64_t kMinSizeBytes = 1ULL << 20;

SetResult one_of(const char* option, const std::string& value, std::vector<std::string> allowed,
                 std::string* field) {
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    return error(fmt::format(messages::options_values::kExpectedOneOf, option,
                             support::join(allowed, ", "), in_quotes(value)));
  }
  *field = value;
  return {};
}

/// Puts the option's name in front of a sentence about its value.
support::Error with_option_name(const char* option, const support::Error& failure) {
  return error(fmt::format("{}: {}", option, failure.message));
}

SetResult quantity(const char* option, const std::string& value,
                   std::optional<support::StepsOrTime>* field) {
  auto parsed = support::parse_quantity(value);
  if (!parsed) return with_option_name(option, parsed.error());
  *field = parsed.value();
  return {};
}

/// A time only: the long form also counts steps, so a bare number would be taken for them.
SetResult time_only(const char* option, const char* long_form, const std::string& value,
                    std::optional<support::StepsOrTime>* field) {
  GPUPROF_CHECK(quantity(option, value, field));
  if (!*field || (*field)->is_time || (*field)->value == 0) return {};
  return error(fmt::format(messages::options_values::kTimeNeedsUnit, option, in_quotes(value),
                           value, long_form, value));
}

template <typename Parse>
SetResult number(const char* option, const std::string& value, Parse parse, std::uint64_t least,
                 std::uint64_t most, const char* expected, std::uint64_t* field) {
  auto parsed = parse(value);
  if (!parsed) return with_option_name(option, parsed.error());
  if (parsed.value() < least || parsed.value() > most) {
    return error(
        fmt::format(messages::options_values::kExpected, option, expected, in_quotes(value)));
  }
  *field = parsed.value();
  return {};
}

}  // namespace

SetResult output(Options& o, const std::string& value) {
  if (value.empty()) return error(messages::options_values::kEmptyOutput);
  o.output = value;
  return {};
}

SetResult force(Options& o, const std::string&) { return o.session.force = true, SetResult{}; }

SetResult format(Options& o, const std::string& value) {
  const std::vector<std::string> known = commands::format_names();
  std::vector<std::string> formats;
  for (const std::string& word : support::split(value, ',')) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return error(fmt::format(messages::options_values::kFormat, in_quotes(word),
                               support::did_you_mean(word, known), support::join_with_and(known)));
    }
    if (std::find(formats.begin(), formats.end(), word) == formats.end()) formats.push_back(word);
  }
  o.session.formats = formats;
  o.formats_given = true;
  return {};
}

SetResult skip_first(Options& o, const std::string& value) {
  return quantity("--skip-first", value, &o.skip_first);
}
SetResult wait(Options& o, const std::string& value) { return quantity("--wait", value, &o.wait); }
SetResult warmup(Options& o, const std::string& value) {
  return quantity("--warmup", value, &o.warmup);
}
SetResult active(Options& o, const std::string& value) {
  return quantity("--active", value, &o.active);
}
SetResult delay(Options& o, const std::string& value) {
  return time_only("--delay", "--wait", value, &o.delay);
}
SetResult duration(Options& o, const std::string& value) {
  return time_only("--duration", "--active", value, &o.duration);
}

SetResult repeat(Options& o, const std::string& value) {
  std::uint64_t count = 0;
  GPUPROF_CHECK(number("--repeat", value, support::parse_unsigned, 0, 1'000'000,
                       messages::options_values::kWindowCount, &count));
  o.repeat = count;
  return {};
}

SetResult step(Options& o, const std::string& value) {
  GPUPROF_CHECK(recording::parse_step(value));
  o.session.step = value;
  return {};
}

SetResult on_no_step(Options& o, const std::string& value) {
  return one_of("--on-no-step", value, {"time", "none"}, &o.session.on_no_step);
}

SetResult step_timeout(Options& o, const std::string& value) {
  return number("--step-timeout", value, support::parse_duration_ns, 1, ~0ULL,
                messages::options_values::kTimeAboveZero, &o.session.step_timeout_ns);
}

SetResult trace(Options& o, const std::string& value) {
  std::uint32_t bits = 0;
  for (const std::string& word : support::split(value, ',')) {
    const auto row =
        std::find_if(recording::kTraceCategories.begin(), recording::kTraceCategories.end(),
                     [&](const recording::TraceCategory& known) { return word == known.word; });
    if (row == recording::kTraceCategories.end()) {
      return error(fmt::format(messages::options_values::kSource, in_quotes(word)));
    }
    bits |= row->bit;
  }
  o.session.trace = bits;
  o.session.trace_given = true;
  return {};
}

SetResult record_shapes(Options& o, const std::string& value) {
  return o.session.record_shapes = value != kNegatedValue, SetResult{};
}
SetResult with_stack(Options& o, const std::string& value) {
  return o.session.with_stack = value != kNegatedValue, SetResult{};
}
SetResult with_modules(Options& o, const std::string& value) {
  return o.session.with_modules = value != kNegatedValue, SetResult{};
}
SetResult profile_memory(Options& o, const std::string& value) {
  return o.session.profile_memory = value != kNegatedValue, SetResult{};
}

SetResult rate(Options& o, const std::string& value) {
  std::uint64_t rate_hz = 0;
  GPUPROF_CHECK(number("--rate", value, support::parse_unsigned, 0, kMaxRateHz,
                       messages::options_values::kSampleRate, &rate_hz));
  o.session.rate_hz = static_cast<std::uint32_t>(rate_hz);
  return {};
}

SetResult sampler(Options& o, const std::string& value) {
  return one_of("--sampler", value, {"auto", "perf", "cpu-timer", "tgkill"}, &o.session.sampler);
}
SetResult cuda_graph(Options& o, const std::string& value) {
  return one_of("--cuda-graph", value, {"node", "graph"}, &o.session.cuda_graph);
}
SetResult span_size(Options& o, const std::string& value) {
  return number("--span-size", value, support::parse_count, 1000, ~0ULL,
                messages::options_values::kEventCount, &o.session.span_size_events);
}
SetResult max_size(Options& o, const std::string& value) {
  return number("--max-size", value, support::parse_size_bytes, kMinSizeBytes, ~0ULL,
                messages::options_values::kRecordedSize, &o.session.max_size_bytes);
}
SetResult buffer_size(Options& o, const std::string& value) {
  return number("--buffer-size", value, support::parse_size_bytes, kMinBufferBytes, kMaxBufferBytes,
                messages::options_values::kBufferSize, &o.session.buffer_size_bytes);
}

SetResult keep(Options& o, const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string head = value.substr(0, colon);
  bool good = value == "all";
  if (colon != std::string::npos && (head == "first" || head == "last")) {
    const auto count = support::parse_unsigned(value.substr(colon + 1));
    good = count && count.value() > 0;
  }
  if (!good) return error(fmt::format(messages::options_values::kKeep, in_quotes(value)));
  o.session.keep = value;
  return {};
}

SetResult all_processes(Options& o, const std::string& value) {
  o.session.all_processes = value != kNegatedValue;
  o.use_role_rules = value == kNegatedValue;
  return {};
}
SetResult wait_for(Options& o, const std::string& value) {
  return one_of("--wait-for", value, {"primary", "all"}, &o.session.wait_for);
}

SetResult max_overhead(Options& o, const std::string& value) {
  GPUPROF_CHECK(recording::parse_max_overhead(value));
  o.session.max_overhead = value;
  return {};
}

SetResult name(Options& o, const std::string& value) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool number = value.find_first_not_of("0123456789") == std::string::npos;
  if (value.size() > recording::kMaxNameBytes || number ||
      value.find_first_not_of(kAllowed) != std::string::npos) {
    return error(
        fmt::format(messages::options_values::kName, recording::kMaxNameBytes, in_quotes(value)));
  }
  o.session.name = value;
  return {};
}

SetResult daemon(Options& o, const std::string& value) {
  if (value.empty()) return error(messages::options_values::kEmptyDaemon);
  o.daemon_path = value;
  return {};
}
SetResult summary_json(Options& o, const std::string& value) {
  if (value.empty()) return error(messages::options_values::kEmptySummary);
  o.summary_json = value;
  return {};
}
SetResult strict(Options& o, const std::string&) { return o.strict = true, SetResult{}; }
SetResult quiet(Options& o, const std::string&) { return o.quiet = true, SetResult{}; }
SetResult verbose(Options& o, const std::string&) { return o.verbose = true, SetResult{}; }
SetResult json(Options& o, const std::string&) { return o.json = true, SetResult{}; }
SetResult help(Options& o, const std::string&) { return o.help = true, SetResult{}; }

SetResult try_recording(Options& o, const std::string&) {
  return o.try_recording = true, SetResult{};
}

SetResult pid(Options& o, const std::string& value) {
  std::uint64_t number_of = 0;
  GPUPROF_CHECK(number("--pid", value, support::parse_unsigned, 1, 1ULL << 22,
                       messages::options_values::kProcessId, &number_of));
  o.pid = static_cast<std::uint32_t>(number_of);
  return {};
}

SetResult pids(Options& o, const std::string& value) {
  for (const std::string& word : support::split(value, ',')) {
    std::uint64_t number_of = 0;
    GPUPROF_CHECK(number("--pid", word, support::parse_unsigned, 1, 1ULL << 22,
                         messages::options_values::kProcessId, &number_of));
    o.pids.push_back(static_cast<std::uint32_t>(number_of));
  }
  return {};
}

SetResult armed(Options& o, const std::string&) { return o.session.armed = true, SetResult{}; }

SetResult children(Options& o, const std::string&) { return o.children = true, SetResult{}; }

SetResult all(Options& o, const std::string&) { return o.all = true, SetResult{}; }

SetResult serve(Options& o, const std::string& value) {
  GPUPROF_CHECK(support::parse_listen_address("--serve", value));
  o.serve = value;
  return {};
}

SetResult at(Options& o, const std::string& value) {
  GPUPROF_CHECK(support::parse_listen_address("--at", value));
  o.serve = value;
  return {};
}

SetResult serve_to_network(Options& o, const std::string&) {
  return o.serve_to_network = true, SetResult{};
}

SetResult stay(Options& o, const std::string&) { return o.stay = true, SetResult{}; }

SetResult ignore_seccomp(Options& o, const std::string&) {
  return o.ignore_seccomp = true, SetResult{};
}

SetResult shell(Options& o, const std::string&) { return o.shell = true, SetResult{}; }

std::string trace_source_names() {
  std::vector<std::string> words;
  for (const recording::TraceCategory& word : recording::kTraceCategories)
    words.emplace_back(word.word);
  return support::join(words, " ");
}

}  // namespace gpuprof::cli::set
