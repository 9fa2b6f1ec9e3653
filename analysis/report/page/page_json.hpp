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

class Json {
 public:
  /// Longer names end in "…" and their length.
  static constexpr std::size_t kMaxText = 1200;

  Json& object() { return did(writer_.StartObject()); }
  Json& end_object() { return did(writer_.EndObject()); }
  Json& array() { return did(writer_.StartArray()); }
  Json& end_array() { return did(writer_.EndArray()); }
  Json& key(std::string_view name) {
    return did(writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size())));
  }
  Json& text(std::string_view value);
  Json& number(std::uint64_t value) { return did(writer_.Uint64(value)); }
  Json& number(std::uint32_t value) { return did(writer_.Uint(value)); }
  Json& number(std::int64_t value) { return did(writer_.Int64(value)); }
  Json& number(std::int32_t value) { return did(writer_.Int(value)); }
  Json& number(double value);
  /// Nanoseconds as microseconds with three digits: nothing is rounded.
  Json& us(std::int64_t ns);
  Json& us(std::uint64_t ns) { return us(static_cast<std::int64_t>(ns)); }
  Json& us(double ns) { return number(ns / 1000.0); }
  Json& flag(bool value) { return did(writer_.Bool(value)); }
  Json& null() { return did(writer_.Null()); }

  /// `[label, value, unit]`, a row of a list of facts.
  Json& fact(std::string_view label, std::string_view value);
  template <typename N>
  Json& fact(std::string_view label, N value, std::string_view unit) {
    return array().text(label).number(value).text(unit).end_array();
  }
  Json& us_fact(std::string_view label, double ns) {
    return array().text(label).us(ns).text("us").end_array();
  }
  Json& texts(std::span<const std::string> values);

  std::string_view view() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  Json& did(bool) { return *this; }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

/// Of a table: how a value of a unit is shown is told in docs/report-page.md.
struct Column {
  std::string_view key, title, unit;
};

/// Opens a table up to the first of its rows; each row is an array.
///
/// @param sort  key of the column it is sorted by, largest first; empty: order of the rows
void begin_table(Json& json, std::string_view key, std::string_view title,
                 std::span<const Column> columns, std::string_view sort,
                 std::string_view note = {});
/// @param left_out  rows that are not in it
void end_table(Json& json, std::uint64_t left_out);

}  // namespace gpuprof::report::page
