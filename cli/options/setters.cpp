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
#include "cli/options/option_table.hpp"
#include "recording/session/overhead_limit.hpp"
#include "recording/session/step_spec.hpp"
#include "recording/session/trace_categories.hpp"
#include "support/io/listen_address.hpp"

namespace gpuprof::cli::set {
namespace {

using support::error;
using support::in_quotes;

constexpr std::uint64_t kMaxRate_hz = 1000;
constexpr std::uint64_t kMaxBuffer_bytes = 64ULL << 20;
constexpr std::uint64_t kMinBuffer_bytes = 1ULL << 20;
constexpr std::uint64_t kMinSize_bytes = 1ULL << 20;

Answer one_of(const char* option, const std::string& value, std::vector<std::string> allowed,
              std::string* field) {
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    return error(fmt::format("{} cannot be {}; it takes {}", option, in_quotes(value),
                             support::join(allowed, ", ")));
  }
  *field = value;
  return {};
}

/// Puts the option's name in front of a sentence about its value.
support::Error about(const char* option, const support::Error& failure) {
  return error(fmt::format("{}: {}", option, failure.sentence));
}

Answer quantity(const char* option, const std::string& value,
                std::optional<support::Quantity>* field) {
  auto parsed = support::parse_quantity(value);
  if (!parsed) return about(option, parsed.error());
  *field = parsed.value();
  return {};
}

/// A time only: the long form also counts steps, so a bare number would be taken for them.
Answer time_only(const char* option, const char* long_form, const std::string& value,
                 std::optional<support::Quantity>* field) {
  GPUPROF_CHECK(quantity(option, value, field));
  if (!*field || (*field)->is_time || (*field)->value == 0) return {};
  return error(fmt::format("{} {}: a time needs a unit; write {}s for seconds or {} {} for steps",
                           option, in_quotes(value), value, long_form, value));
}

template <typename Parse>
Answer number(const char* option, const std::string& value, Parse parse, std::uint64_t least,
              std::uint64_t most, const std::string& bounds, std::uint64_t* field) {
  auto parsed = parse(value);
  if (!parsed) return about(option, parsed.error());
  if (parsed.value() < least || parsed.value() > most) {
    return error(fmt::format("{} cannot be {}; {}", option, in_quotes(value), bounds));
  }
  *field = parsed.value();
  return {};
}

}  // namespace

Answer output(Options& o, const std::string& value) {
  if (value.empty()) return error("-o needs a folder or a pattern, not an empty word");
  o.output = value;
  return {};
}

Answer force(Options& o, const std::string&) { return o.session.force = true, Answer{}; }

Answer format(Options& o, const std::string& value) {
  const std::vector<std::string> known = api::format_names();
  std::vector<std::string> formats;
  for (const std::string& word : support::split(value, ',')) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return error(fmt::format("--format: this version does not write {}{}; it writes {}",
                               in_quotes(word), support::did_you_mean(word, known),
                               support::listed(known)));
    }
    if (std::find(formats.begin(), formats.end(), word) == formats.end()) formats.push_back(word);
  }
  o.session.formats = formats;
  o.formats_given = true;
  return {};
}

Answer skip_first(Options& o, const std::string& value) {
  return quantity("--skip-first", value, &o.skip_first);
}
Answer wait(Options& o, const std::string& value) { return quantity("--wait", value, &o.wait); }
Answer warmup(Options& o, const std::string& value) {
  return quantity("--warmup", value, &o.warmup);
}
Answer active(Options& o, const std::string& value) {
  return quantity("--active", value, &o.active);
}
Answer delay(Options& o, const std::string& value) {
  return time_only("--delay", "--wait", value, &o.delay);
}
Answer duration(Options& o, const std::string& value) {
  return time_only("--duration", "--active", value, &o.duration);
}

Answer repeat(Options& o, const std::string& value) {
  std::uint64_t count = 0;
  GPUPROF_CHECK(number("--repeat", value, support::parse_unsigned, 0, 1'000'000,
                       "it counts windows, 0 = until the end", &count));
  o.repeat = count;
  return {};
}

Answer step(Options& o, const std::string& value) {
  GPUPROF_CHECK(api::parse_step(value));
  o.session.step = value;
  return {};
}

Answer on_no_step(Options& o, const std::string& value) {
  return one_of("--on-no-step", value, {"time", "none"}, &o.session.on_no_step);
}

Answer step_timeout(Options& o, const std::string& value) {
  return number("--step-timeout", value, support::parse_duration_ns, 1, ~0ULL,
                "it must be longer than nothing", &o.session.step_timeout_ns);
}

Answer trace(Options& o, const std::string& value) {
  std::uint32_t bits = 0;
  for (const std::string& word : support::split(value, ',')) {
    const auto row = std::find_if(api::kTraceWords.begin(), api::kTraceWords.end(),
                                  [&](const api::TraceWord& known) { return word == known.word; });
    if (row == api::kTraceWords.end()) {
      return error(
          fmt::format("-t cannot hold {}; it takes a list of cuda, nvtx, torch, python, native",
                      in_quotes(word)));
    }
    bits |= row->bit;
  }
  o.session.trace = bits;
  o.session.trace_given = true;
  return {};
}

Answer record_shapes(Options& o, const std::string& value) {
  return o.session.record_shapes = value != kNegated, Answer{};
}
Answer with_stack(Options& o, const std::string& value) {
  return o.session.with_stack = value != kNegated, Answer{};
}
Answer with_modules(Options& o, const std::string& value) {
  return o.session.with_modules = value != kNegated, Answer{};
}
Answer profile_memory(Options& o, const std::string& value) {
  return o.session.profile_memory = value != kNegated, Answer{};
}

Answer rate(Options& o, const std::string& value) {
  std::uint64_t rate_hz = 0;
  GPUPROF_CHECK(number("--rate", value, support::parse_unsigned, 0, kMaxRate_hz,
                       "the most is 1000 samples a second and thread, 0 turns sampling off",
                       &rate_hz));
  o.session.rate_hz = static_cast<std::uint32_t>(rate_hz);
  return {};
}

Answer sampler(Options& o, const std::string& value) {
  return one_of("--sampler", value, {"auto", "perf", "cpu-timer", "tgkill"}, &o.session.sampler);
}
Answer cuda_graph(Options& o, const std::string& value) {
  return one_of("--cuda-graph", value, {"node", "graph"}, &o.session.cuda_graph);
}
Answer span_size(Options& o, const std::string& value) {
  return number("--span-size", value, support::parse_count, 1000, ~0ULL,
                "a file holds at least 1000 events", &o.session.span_size_events);
}
Answer max_size(Options& o, const std::string& value) {
  return number("--max-size", value, support::parse_size_bytes, kMinSize_bytes, ~0ULL,
                "the least is 1MiB", &o.session.max_size_bytes);
}
Answer buffer_size(Options& o, const std::string& value) {
  return number("--buffer-size", value, support::parse_size_bytes, kMinBuffer_bytes,
                kMaxBuffer_bytes, "it lies between 1MiB and 64MiB", &o.session.buffer_size_bytes);
}

Answer keep(Options& o, const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string head = value.substr(0, colon);
  bool good = value == "all";
  if (colon != std::string::npos && (head == "first" || head == "last")) {
    const auto count = support::parse_unsigned(value.substr(colon + 1));
    good = count && count.value() > 0;
  }
  if (!good) {
    return error(
        fmt::format("--keep cannot be {}; it takes all, first:N or last:N with N files or "
                    "more than none",
                    in_quotes(value)));
  }
  o.session.keep = value;
  return {};
}

Answer all_processes(Options& o, const std::string& value) {
  o.session.all_processes = value != kNegated;
  o.by_rules = value == kNegated;
  return {};
}
Answer wait_for(Options& o, const std::string& value) {
  return one_of("--wait-for", value, {"primary", "all"}, &o.session.wait_for);
}

Answer max_overhead(Options& o, const std::string& value) {
  GPUPROF_CHECK(api::parse_max_overhead(value));
  o.session.max_overhead = value;
  return {};
}

Answer name(Options& o, const std::string& value) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool number = value.find_first_not_of("0123456789") == std::string::npos;
  if (value.size() > api::kMostNameBytes || number ||
      value.find_first_not_of(kAllowed) != std::string::npos) {
    return error(
        fmt::format("--name cannot be {}; it takes 1 to {} letters, digits and . _ -, and "
                    "not digits alone, which are the number of a process",
                    in_quotes(value), api::kMostNameBytes));
  }
  o.session.name = value;
  return {};
}

Answer daemon(Options& o, const std::string& value) {
  if (value.empty()) return error("--daemon needs the path of gpuprofd, not an empty word");
  o.daemon_path = value;
  return {};
}
Answer summary_json(Options& o, const std::string& value) {
  if (value.empty()) return error("--summary-json needs a file, not an empty word");
  o.summary_json = value;
  return {};
}
Answer strict(Options& o, const std::string&) { return o.strict = true, Answer{}; }
Answer quiet(Options& o, const std::string&) { return o.quiet = true, Answer{}; }
Answer verbose(Options& o, const std::string&) { return o.verbose = true, Answer{}; }
Answer json(Options& o, const std::string&) { return o.json = true, Answer{}; }
Answer help(Options& o, const std::string&) { return o.help = true, Answer{}; }

Answer try_it(Options& o, const std::string&) { return o.try_it = true, Answer{}; }

Answer pid(Options& o, const std::string& value) {
  std::uint64_t number_of = 0;
  GPUPROF_CHECK(number("--pid", value, support::parse_unsigned, 1, 1ULL << 22,
                       "it is the number of a running process", &number_of));
  o.pid = static_cast<std::uint32_t>(number_of);
  return {};
}

Answer pids(Options& o, const std::string& value) {
  for (const std::string& word : support::split(value, ',')) {
    std::uint64_t number_of = 0;
    GPUPROF_CHECK(number("--pid", word, support::parse_unsigned, 1, 1ULL << 22,
                         "it is the number of a running process", &number_of));
    o.pids.push_back(static_cast<std::uint32_t>(number_of));
  }
  return {};
}

Answer armed(Options& o, const std::string&) { return o.session.armed = true, Answer{}; }

Answer children(Options& o, const std::string&) { return o.children = true, Answer{}; }

Answer all(Options& o, const std::string&) { return o.all = true, Answer{}; }

Answer serve(Options& o, const std::string& value) {
  GPUPROF_CHECK(support::parse_listen_address("--serve", value));
  o.serve = value;
  return {};
}

Answer at(Options& o, const std::string& value) {
  GPUPROF_CHECK(support::parse_listen_address("--at", value));
  o.serve = value;
  return {};
}

Answer serve_to_network(Options& o, const std::string&) {
  return o.serve_to_network = true, Answer{};
}

Answer stay(Options& o, const std::string&) { return o.stay = true, Answer{}; }

Answer ignore_seccomp(Options& o, const std::string&) { return o.ignore_seccomp = true, Answer{}; }

Answer shell(Options& o, const std::string&) { return o.shell = true, Answer{}; }

std::string trace_words() {
  std::vector<std::string> words;
  for (const api::TraceWord& word : api::kTraceWords) words.emplace_back(word.word);
  return support::join(words, " ");
}

}  // namespace gpuprof::cli::set
