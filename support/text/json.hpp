// SPDX-License-Identifier: Apache-2.0
//
// A short interface to RapidJSON: a writer to a string, and a parser whose errors are sentences.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: JSON and UTF-8 whatever the bytes of a text
// Not here: trace files (analysis/export writes those without a tree)
#pragma once

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/messages/text_values.hpp"
#include "support/result.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::support {

/// Writes one JSON text, key by key.
class JsonWriter {
 public:
  JsonWriter() : writer_(buffer_) { writer_.SetIndent(' ', 2); }

  JsonWriter& begin_object() { return writer_.StartObject(), *this; }
  JsonWriter& end_object() { return writer_.EndObject(), *this; }
  JsonWriter& begin_array() { return writer_.StartArray(), *this; }
  JsonWriter& end_array() { return writer_.EndArray(), *this; }
  JsonWriter& key(std::string_view name) {
    std::string repaired;
    if (!is_utf8(name)) name = repaired = to_utf8(name);
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    std::string repaired;
    if (!is_utf8(text)) text = repaired = to_utf8(text);
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return writer_.Bool(truth), *this; }
  JsonWriter& value(std::uint64_t number) { return writer_.Uint64(number), *this; }
  JsonWriter& value(std::int64_t number) { return writer_.Int64(number), *this; }
  JsonWriter& value(int number) { return writer_.Int(number), *this; }
  /// JSON has no words for what is no number: null.
  JsonWriter& value(double number) {
    std::isfinite(number) ? writer_.Double(number) : writer_.Null();
    return *this;
  }
  JsonWriter& null() { return writer_.Null(), *this; }
  JsonWriter& value(const std::vector<std::string>& texts) {
    begin_array();
    for (const std::string& text : texts) value(std::string_view(text));
    return end_array();
  }
  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_;
};

/// Parses a whole text; the error names the byte where it stopped making sense.
inline Result<rapidjson::Document> parse_json(std::string_view text) {
  rapidjson::Document document;
  // Not by functions that call themselves: depth costs no stack.
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    std::string_view why = rapidjson::GetParseError_En(document.GetParseError());
    // The library's texts are whole sentences; this becomes a part of one.
    while (why.ends_with('.')) why.remove_suffix(1);
    return error(fmt::format(messages::text_values::kNotJson, document.GetErrorOffset(), why));
  }
  return document;
}

}  // namespace gpuprof::support
