// SPDX-License-Identifier: Apache-2.0
//
// Reads numbers, sizes, times and lists.
//
// Context:  tools
// Owns:     nothing
// Promises: see option_values.hpp
#include "tools/option_values.hpp"

#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/scenarios.hpp"
#include "tools/say.hpp"

namespace gpusim {
namespace {

using Suffixes = std::vector<std::pair<std::string_view, double>>;

const Suffixes& sizes() {
  static const auto* const list = new Suffixes{
      {"", 1},         {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
  };
  return *list;
}

const Suffixes& times() {
  static const auto* const list =
      new Suffixes{{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return *list;
}

[[noreturn]] void refuse(const char* option, const char* text, const std::string& allowed) {
  fail(std::string(option) + " cannot be '" + text + "': give " + allowed);
}

/// Whole numbers from LOW to HIGH.
std::string whole(const char* option, const char* limits, const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long n = std::strtoull(text, &end, 10);
  const char* dash = std::strchr(limits, '-');
  const bool number = end != text && *end == '\0' && *text != '-' && errno == 0;
  if (!number || n < std::strtoull(limits, nullptr, 10) || n > std::strtoull(dash + 1, nullptr, 10))
    refuse(option, text, "a whole number from " + std::string(limits, dash) + " to " + (dash + 1));
  return std::to_string(n);
}

std::string factor(const char* option, const char* text) {
  char* end = nullptr;
  const double n = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(n >= 0 && n <= 1e6))
    refuse(option, text, "a number from 0 to 1000000, for example 0.1");
  return text;
}

/// A number with one of the suffixes, multiplied out.
std::string scaled(const char* option, const char* text, const Suffixes& suffixes,
                   const std::string& allowed) {
  char* end = nullptr;
  const double n = std::strtod(text, &end);
  for (const auto& [suffix, unit] : suffixes)
    if (end != text && suffix == end && n >= 0 && n * unit < 0x1p62)
      return std::to_string(static_cast<unsigned long long>(n * unit));
  refuse(option, text, allowed);
}

std::string size(const char* option, const char* text) {
  const char* allowed = "a size above 0, for example 8GiB, 512MiB or 2G";
  const std::string bytes = scaled(option, text, sizes(), allowed);
  if (bytes == "0") refuse(option, text, allowed);
  return bytes;
}

std::string choice(const char* option, const char* limits, const char* text) {
  for (const std::string& word : comma_separated(limits))
    if (word == text) return text;
  std::string words;
  for (const char* c = limits; *c != '\0'; ++c)
    words += *c == ',' ? std::string(", ") : std::string(1, *c);
  refuse(option, text, "one of " + words);
}

std::string absolute(const char* path) {
  if (*path == '/') return path;
  char here[PATH_MAX];
  return getcwd(here, sizeof here) != nullptr ? std::string(here) + "/" + path : path;
}

void check_scenario(const char* option, const std::string& item) {
  const std::string name = item.substr(0, item.find(':'));
  bool known = false;
  for (const ScenarioInfo& s : kScenarios) known = known || name == s.name;
  if (!known) fail("there is no scenario '" + name + "': see gpusim-run --list-scenarios");
  if (name.size() == item.size()) return;
  const char* argument = item.c_str() + name.size() + 1;
  char* end = nullptr;
  std::strtoll(argument, &end, 0);
  if (end == argument || *end != '\0')
    refuse(option, item.c_str(), "NAME or NAME:NUMBER, for example zero-times:10");
}

/// FUNCTION:NTH:CODE
void check_error_rule(const char* option, const std::string& item) {
  char function[64], nth[16], rest;
  int code = 0;
  const int parts = std::sscanf(item.c_str(), "%63[^:]:%15[^:]:%d%c", function, nth, &code, &rest);
  char* end = nth;
  if (parts == 3 && std::strtoul(nth, &end, 10) > 0 && std::strcmp(end, "+") == 0) return;
  if (parts == 3 && (std::strcmp(nth, "*") == 0 || (end != nth && *end == '\0' && nth[0] != '0')))
    return;
  refuse(option, item.c_str(),
         "FUNCTION:NTH:CODE, NTH being N, N+ or *, for example cuptiSubscribe_v2:1:39");
}

/// A name left out between commas is more likely a slip than nothing.
void check_no_gap(const char* option, const std::string& list) {
  const std::string padded = "," + list + ",";
  if (padded.find(",,") != std::string::npos)
    refuse(option, list.c_str(), "names with one comma between two, and none at the end");
}

}  // namespace

std::vector<std::string> comma_separated(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string value_of(const char* option, Form form, const char* limits, const char* text) {
  switch (form) {
    case Form::kWhole:
      return whole(option, limits, text);
    case Form::kFactor:
      return factor(option, text);
    case Form::kSize:
      return size(option, text);
    case Form::kTime:
      return scaled(option, text, times(), "a time, for example 300ns, 3us or 1ms");
    case Form::kPath:
      return absolute(text);
    case Form::kChoice:
      return choice(option, limits, text);
    case Form::kScenarioList:
      check_no_gap(option, text);
      for (const std::string& item : comma_separated(text)) check_scenario(option, item);
      return text;
    case Form::kErrorList:
      check_no_gap(option, text);
      for (const std::string& item : comma_separated(text)) check_error_rule(option, item);
      return text;
    default:
      return text;
  }
}

std::string human_size(std::uint64_t bytes) {
  char text[32];
  const bool large = bytes >= (std::uint64_t{1} << 30);
  std::snprintf(text, sizeof text, large ? "%.1f GiB" : "%.0f MiB",
                static_cast<double>(bytes) / (large ? 0x1p30 : 0x1p20));
  return text;
}

}  // namespace gpusim
