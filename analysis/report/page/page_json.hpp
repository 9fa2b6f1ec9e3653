// SPDX-License-Identifier: Apache-2.0
//
// JSON text of the page's data, member by member.
//
// Context:  cli
// Owns:     the text
// Promises: valid UTF-8 whatever the bytes of a name; names cut at kMaxText bytes; never NaN or
//           Infinity
// Not here: what is in it (page_data.cpp), how it gets into the page (page_file.cpp)
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuprof::report::page {

class PageJson {
 public:
  /// Longer names end in "…" and their length.
  static constexpr std::size_t kMaxText = 1200;

  PageJson& object() { return chain(writer_.StartObject()); }
  PageJson& end_object() { return chain(writer_.EndObject()); }
  PageJson& array() { return chain(writer_.StartArray()); }
  PageJson& end_array() { return chain(writer_.EndArray()); }
  PageJson& key(std::string_view name) {
    return chain(writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size())));
  }
  PageJson& text(std::string_view value);
  PageJson& number(std::uint64_t value) { return chain(writer_.Uint64(value)); }
  PageJson& number(std::uint32_t value) { return chain(writer_.Uint(value)); }
  PageJson& number(std::int64_t value) { return chain(writer_.Int64(value)); }
  PageJson& number(std::int32_t value) { return chain(writer_.Int(value)); }
  PageJson& number(double value);
  /// Nanoseconds as microseconds with three digits: nothing is rounded.
  PageJson& us(std::int64_t ns);
  PageJson& us(std::uint64_t ns) { return us(static_cast<std::int64_t>(ns)); }
  PageJson& us(double ns) { return number(ns / 1000.0); }
  PageJson& flag(bool value) { return chain(writer_.Bool(value)); }
  PageJson& null() { return chain(writer_.Null()); }

  /// `[label, value, unit]`, a row of a list of facts.
  PageJson& fact(std::string_view label, std::string_view value);
  template <typename N>
  PageJson& fact(std::string_view label, N value, std::string_view unit) {
    return array().text(label).number(value).text(unit).end_array();
  }
  PageJson& us_fact(std::string_view label, double ns) {
    return array().text(label).us(ns).text("us").end_array();
  }
  PageJson& texts(std::span<const std::string> values);

  std::string_view view() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  PageJson& chain(bool) { return *this; }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

/// Of a table: docs/report-page.md describes how a value of each unit is shown.
struct PageColumn {
  std::string_view key, title, unit;
};

/// Opens a table up to the first of its rows; each row is an array.
///
/// @param sort  key of the column it is sorted by, largest first; empty: order of the rows
void begin_table(PageJson& json, std::string_view key, std::string_view title,
                 std::span<const PageColumn> columns, std::string_view sort,
                 std::string_view note = {});
/// @param left_out  rows that are not in it
void end_table(PageJson& json, std::uint64_t left_out);

}  // namespace gpuprof::report::page
