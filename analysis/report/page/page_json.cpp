// SPDX-License-Identifier: Apache-2.0
//
// JSON text of the page's data, member by member.
//
// Context:  cli
#include "analysis/report/page/page_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "analysis/export/encoding/buffered_writer.hpp"

namespace gpuprof::report::page {

PageJson& PageJson::text(std::string_view value) {
  std::string shown = exporter::encode_text(exporter::TextEncoding::kUtf8, value, kMaxText);
  if (value.size() > kMaxText) shown += fmt::format("… ({} bytes)", value.size());
  return chain(writer_.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size())));
}

PageJson& PageJson::number(double value) {
  if (!std::isfinite(value)) value = 0;
  // Seven digits are more than anybody reads, and half the bytes of seventeen.
  const std::string digits = fmt::format("{:.7g}", value);
  return chain(writer_.RawValue(digits.data(), digits.size(), rapidjson::kNumberType));
}

PageJson& PageJson::us(std::int64_t ns) {
  const std::string_view sign = ns < 0 ? "-" : "";
  const std::uint64_t size =
      ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string digits = fmt::format("{}{}", sign, size / 1000);
  if (size % 1000 != 0) digits += fmt::format(".{:03}", size % 1000);
  return chain(writer_.RawValue(digits.data(), digits.size(), rapidjson::kNumberType));
}

PageJson& PageJson::fact(std::string_view label, std::string_view value) {
  return array().text(label).text(value).text("text").end_array();
}

PageJson& PageJson::texts(std::span<const std::string> values) {
  array();
  for (const std::string& value : values) text(value);
  return end_array();
}

void begin_table(PageJson& json, std::string_view key, std::string_view title,
                 std::span<const PageColumn> columns, std::string_view sort,
                 std::string_view note) {
  json.object().key("key").text(key).key("title").text(title).key("sort").text(sort);
  json.key("note").text(note).key("columns").array();
  for (const PageColumn& column : columns) {
    json.object().key("key").text(column.key).key("title").text(column.title);
    json.key("unit").text(column.unit).end_object();
  }
  json.end_array().key("rows").array();
}

void end_table(PageJson& json, std::uint64_t left_out) {
  json.end_array().key("left_out").number(left_out).end_object();
}

}  // namespace gpuprof::report::page
