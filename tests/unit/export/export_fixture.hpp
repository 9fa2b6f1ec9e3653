// SPDX-License-Identifier: Apache-2.0
//
// A spool of one process made by a test, and its trace file read back.
#pragma once

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "analysis/export/export.hpp"

namespace gpuprof::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Unpacks exactly one gzip member; fails if anything follows it.
inline std::string unpack_one_member(const std::string& packed) {
  z_stream stream{};
  inflateInit2(&stream, 16 + MAX_WBITS);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text, piece(1 << 20, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, 0, piece.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END) << "damaged, or the checksum is wrong";
  EXPECT_EQ(stream.avail_in, 0u) << "something follows the first member";
  inflateEnd(&stream);
  return text;
}

class ExportTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPid = 4000;
  static constexpr std::uint64_t kStart = 1'000'000'000;

  void SetUp() override {
    char name[] = "/tmp/gpuprof-export-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    session_.folder = folder_;
    session_.host = "host";
    session_.options.output = folder_ + "/out";
    window_.start_ns = kStart;
    window_.end_ns = kStart + 1'000'000;
    window_.stamp_real_ns = 1'700'000'000'000'000'000;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void record(const std::function<void(model::EventSink&)>& send, std::uint32_t pid = kPid) {
    const std::string path = folder_ + "/" + std::to_string(pid) + ".spool";
    auto writer = spool::ProcessWriter::create(path).take();
    writer->on(
        model::Process{pid, 1, 1, 1, kStart, 1'700'000'000'000'000'000, "/bin/prog", "prog"});
    send(*writer);
    session_.processes.push_back({pid, path});
  }

  /// Writes the window's file and parses it.
  rapidjson::Document& trace() {
    const auto files = exporter::write_window(session_, window_, {kPid}, {});
    EXPECT_TRUE(files.ok()) << (files.ok() ? "" : files.error().message);
    if (files.ok()) {
      written_ = files.value().at(0);
      text_ = unpack_one_member(read_file(written_.path));
      document_.Parse<rapidjson::kParseFullPrecisionFlag>(text_.c_str());
      EXPECT_FALSE(document_.HasParseError()) << text_;
    }
    return document_;
  }

  /// Events of a category, or of a phase where the category is empty.
  std::vector<const rapidjson::Value*> events(const std::string& category,
                                              const std::string& phase = "X") {
    std::vector<const rapidjson::Value*> found;
    for (const auto& event : document_["traceEvents"].GetArray()) {
      const bool same = event.HasMember("cat") && event["cat"].GetString() == category;
      if ((category.empty() || same) && event["ph"].GetString() == phase) found.push_back(&event);
    }
    return found;
  }

  static model::ApiCall call(std::uint32_t correlation, std::uint64_t from_us, std::uint64_t to_us,
                             model::RangeId range = 0) {
    model::ApiCall c{};
    c.start_ns = kStart + from_us * 1000;
    c.end_ns = kStart + to_us * 1000;
    c.correlation = correlation;
    c.range = range;
    c.tid = kPid;
    c.api = 2;
    return c;
  }
  static model::Kernel kernel(std::uint32_t correlation, std::uint64_t from_us, std::uint64_t to_us,
                              model::RangeId range = 0) {
    model::Kernel k{};
    k.start_ns = kStart + from_us * 1000;
    k.end_ns = kStart + to_us * 1000;
    k.correlation = correlation;
    k.range = range;
    k.stream = 7;
    k.grid = k.block = {1, 1, 1};
    return k;
  }
  static model::Range range(model::RangeId id, std::int64_t from_us, std::int64_t to_us) {
    model::Range r{};
    r.start_ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(kStart) + from_us * 1000);
    r.end_ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(kStart) + to_us * 1000);
    r.id = id;
    r.tid = r.end_tid = kPid;
    return r;
  }
  static model::Operator op(model::RangeId id, model::StringId name, std::int64_t from_us,
                            std::int64_t to_us) {
    const model::Range times = range(id, from_us, to_us);
    model::Operator o{};
    o.start_ns = times.start_ns;
    o.end_ns = times.end_ns;
    o.id = id;
    o.name = name;
    o.sequence = -1;
    o.tid = o.end_tid = kPid;
    return o;
  }
  static model::Step step(std::uint64_t number, std::uint64_t from_us, std::uint64_t to_us) {
    model::Step s{};
    s.start_ns = kStart + from_us * 1000;
    s.end_ns = kStart + to_us * 1000;
    s.number = s.label = number;
    s.tid = kPid;
    return s;
  }

  std::string folder_, text_;
  spool::SessionView session_;
  model::Window window_;
  exporter::WrittenFile written_;
  rapidjson::Document document_;
};

}  // namespace gpuprof::test
