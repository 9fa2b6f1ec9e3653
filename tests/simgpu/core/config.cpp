// SPDX-License-Identifier: Apache-2.0
//
// Parses the GPUSIM_* environment into a Config.
//
// Context:  any
// Owns:     one leaked Config per process
// Promises: a value that cannot be understood is reported on stderr and the default kept
// Not here: the list of scenarios (scenarios.hpp)
#include "core/config.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpusim {
namespace {

void complain(const char* variable, const char* value) {
  std::fprintf(stderr, "gpusim: simulated GPU: %s='%s' not understood, default kept\n", variable,
               value);
}

const char* text(const char* variable) {
  const char* v = std::getenv(variable);
  return v != nullptr && *v != '\0' ? v : nullptr;
}

std::uint64_t number(const char* variable, std::uint64_t fallback) {
  const char* v = text(variable);
  if (v == nullptr) return fallback;
  char* end = nullptr;
  const unsigned long long n = std::strtoull(v, &end, 0);
  if (end == v || *end != '\0') {
    complain(variable, v);
    return fallback;
  }
  return n;
}

double real(const char* variable, double fallback) {
  const char* v = text(variable);
  if (v == nullptr) return fallback;
  char* end = nullptr;
  const double n = std::strtod(v, &end);
  if (end == v || *end != '\0' || !(n >= 0)) {
    complain(variable, v);
    return fallback;
  }
  return n;
}

template <typename T, int N>
T choice(const char* variable, const char* const (&names)[N], T fallback) {
  const char* v = text(variable);
  if (v == nullptr) return fallback;
  for (int i = 0; i < N; ++i)
    if (std::strcmp(v, names[i]) == 0) return static_cast<T>(i);
  complain(variable, v);
  return fallback;
}

int find_scenario(const char* name, std::size_t length) {
  for (int i = 0; i < static_cast<int>(Scenario::kCount); ++i)
    if (std::strlen(kScenarios[i].name) == length &&
        std::strncmp(kScenarios[i].name, name, length) == 0)
      return i;
  return -1;
}

void parse_scenarios(Config& c) {
  const char* p = text("GPUSIM_SCENARIO");
  while (p != nullptr && *p != '\0') {
    const std::size_t item = std::strcspn(p, ",");
    const std::size_t name = std::strcspn(p, ",:");
    const int i = find_scenario(p, name);
    if (i < 0) {
      complain("GPUSIM_SCENARIO", p);
    } else {
      c.scenario_on[i] = true;
      c.scenario_argument[i] =
          name < item ? std::strtoll(p + name + 1, nullptr, 0) : kScenarios[i].default_argument;
    }
    p += item;
    if (*p == ',') ++p;
  }
}

/// Reads one FUNCTION:NTH:CODE, NTH being a number, a number with '+', or '*'.
bool parse_error_rule(const char* item, ErrorRule& rule) {
  char nth[16] = {};
  if (std::sscanf(item, "%63[^:]:%15[^:]:%d", rule.function, nth, &rule.code) != 3) return false;
  if (std::strcmp(nth, "*") == 0) {
    rule.nth = 0;
    rule.and_later = true;
    return true;
  }
  rule.nth = static_cast<std::uint32_t>(std::strtoul(nth, nullptr, 10));
  rule.and_later = nth[std::strlen(nth) - 1] == '+';
  return rule.nth > 0;
}

void parse_errors(Config& c) {
  const char* p = text("GPUSIM_ERRORS");
  while (p != nullptr && *p != '\0') {
    char item[128] = {};
    const std::size_t length = std::strcspn(p, ",");
    if (length < sizeof item) std::memcpy(item, p, length);
    if (c.error_rules < kMaxErrorRules && parse_error_rule(item, c.errors[c.error_rules]))
      ++c.error_rules;
    else
      complain("GPUSIM_ERRORS", p);
    p += length;
    if (*p == ',') ++p;
  }
}

Config* read() {
  static const char* const kLayouts[] = {"11.8", "12.4", "12.9", "13.0", "13.2", "future"};
  static const char* const kModels[] = {"h100", "a100", "v100"};
  static const char* const kData[] = {"copy", "zero"};
  static const char* const kCupti[] = {"one", "per-client"};
  auto* c = new Config{};
  c->devices = static_cast<int>(number("GPUSIM_DEVICES", 2));
  if (c->devices > kMaxDevices) c->devices = kMaxDevices;
  c->model = choice("GPUSIM_MODEL", kModels, Model::kH100);
  c->memory_bytes = number("GPUSIM_MEMORY", 0);
  c->time_scale = real("GPUSIM_TIME_SCALE", 1.0);
  c->api_cost_ns = number("GPUSIM_API_COST_NS", 2000);
  c->kernel_ns = number("GPUSIM_KERNEL_NS", 0);
  c->correlation_start = static_cast<std::uint32_t>(number("GPUSIM_CORRELATION_START", 1));
  c->device_buffers = number("GPUSIM_DEVICE_BUFFERS", 250);
  c->layout = choice("GPUSIM_LAYOUT", kLayouts, Layout::k13_0);
  c->quiet = number("GPUSIM_QUIET", 0) != 0;
  c->zero_data = choice("GPUSIM_DATA", kData, 0) == 1;
  c->cupti_per_client = choice("GPUSIM_CUPTI", kCupti, 0) == 1;
  c->truth_path = text("GPUSIM_TRUTH");
  c->log_path = text("GPUSIM_LOG");
  c->log_all = number("GPUSIM_LOG_ALL", 0) != 0;
  c->slot_taken_by = text("GPUSIM_SLOT_TAKEN");
  parse_scenarios(*c);
  parse_errors(*c);
  return c;
}

}  // namespace

const Config& config() {
  static const Config* const instance = read();
  return *instance;
}

}  // namespace gpusim
