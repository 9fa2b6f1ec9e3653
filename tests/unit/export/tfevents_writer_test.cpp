// SPDX-License-Identifier: Apache-2.0
//
// Scalars of hand-made spools, read back; and the framing, byte by byte.
#include "analysis/export/tfevents/tfevents.pb.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "analysis/export/tfevents/tfrecord.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using test::ExportTest;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pair;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

TEST(Tfrecord, HasTheChecksumsOfThePublishedCheck) {
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
}

TEST(Tfrecord, OfTheVersionIsByteForByteWhatTensorBoardWrites) {
  tfevents::Event event;
  event.set_wall_time(1'700'000'000.0);
  event.set_file_version("brain.Event:2");
  EXPECT_EQ(hex(tfrecord(event.SerializeAsString())),
            "1800000000000000a37f4b220900000040fc54d941"
            "1a0d627261696e2e4576656e743a32eced8f9d");
}

TEST(Tfrecord, OfAScalarIsByteForByteWhatTensorBoardReads) {
  tfevents::Event event;
  event.set_wall_time(1'700'000'001.0);
  event.set_step(3);
  tfevents::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag("gpu/sm_busy");
  value.set_simple_value(0.5F);
  EXPECT_EQ(hex(tfrecord(event.SerializeAsString())),
            "2100000000000000017becf60900004040fc54d94110032a140a120a0b6770752f736d5f62757379"
            "150000003fd8472abb");
}

class TfeventsTest : public ExportTest {
 protected:
  using Curve = std::map<std::int64_t, float>;

  void SetUp() override {
    ExportTest::SetUp();
    session_.options.formats = {"tfevents"};
  }

  std::map<std::string, Curve> curves() {
    const auto files = write_window(session_, window_, {kPid}, {});
    EXPECT_TRUE(files.ok()) << (files.ok() ? "" : files.error().message);
    const std::string bytes = test::read_file(files.value().at(0).path);
    std::map<std::string, Curve> found;
    std::size_t records = 0;
    for (std::size_t at = 0; at < bytes.size(); ++records) {
      const auto length =
          static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) +
          (static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + 1])) << 8);
      const std::string record = bytes.substr(at + 12, length);
      EXPECT_EQ(tfrecord(record), bytes.substr(at, length + 16));
      at += length + 16;
      tfevents::Event event;
      EXPECT_TRUE(event.ParseFromString(record));
      EXPECT_EQ(records == 0, event.file_version() == "brain.Event:2");
      wall_times_.push_back(event.wall_time());
      for (const tfevents::Summary::Value& value : event.summary().value())
        if (value.has_simple_value()) found[value.tag()][event.step()] = value.simple_value();
    }
    return found;
  }
  std::vector<double> wall_times_;
};

TEST_F(TfeventsTest, EachStepIsAPointOfEachCurve) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"});
    for (std::uint64_t i = 0; i < 2; ++i) {
      model::Step s = step(i, i * 100, i * 100 + 100);
      s.label = 5 + i;
      to.on(s);
    }
    to.on(op(2, 1, 90, 120));  // 10 us of the first step, 20 of the second
    to.on(kernel(1, 10, 40));
    model::Kernel beside = kernel(2, 30, 60);
    beside.stream = 8;
    to.on(beside);
    to.on(kernel(3, 95, 110));
    model::Sync wait{};
    wait.start_ns = kStart + 150'000;
    wait.end_ns = kStart + 175'000;
    wait.type = 3;
    to.on(wait);
    model::Allocation a{};
    a.start_ns = a.end_ns = kStart + 20'000;
    a.bytes = 4096;
    a.total_allocated_bytes = 4096;
    a.total_reserved_bytes = 8192;
    a.tid = kPid;
    a.device_type = 1;
    to.on(a);
    to.on(model::Loss{1, 0, 3, kStart + 10, kStart + 20});
  });
  auto found = curves();
  const auto near = [](float value) { return FloatNear(value, 1e-6F); };
  EXPECT_THAT(found.at("step/time_ms"), ElementsAre(Pair(5, near(0.1F)), Pair(6, near(0.1F))));
  EXPECT_THAT(found.at("gpu/busy"), ElementsAre(Pair(5, near(0.55F)), Pair(6, near(0.1F))));
  EXPECT_THAT(found.at("gpu/kernels"), ElementsAre(Pair(5, 3.0F), Pair(6, 0.0F)));
  EXPECT_THAT(found.at("gpu/kernel_time_ms"),
              ElementsAre(Pair(5, near(0.065F)), Pair(6, near(0.01F))));
  EXPECT_THAT(found.at("loader/share"), ElementsAre(Pair(5, near(0.1F)), Pair(6, near(0.2F))));
  EXPECT_THAT(found.at("sync/wait_ms"), ElementsAre(Pair(5, near(0.0F)), Pair(6, near(0.025F))));
  EXPECT_THAT(found.at("memory/cuda_0/allocated_peak_bytes"),
              ElementsAre(Pair(5, 4096.0F), Pair(6, 4096.0F)));
  EXPECT_THAT(found.at("records/dropped"), ElementsAre(Pair(6, 3.0F)));
  ASSERT_EQ(wall_times_.size(), 3u);
  EXPECT_NEAR(wall_times_[1] - wall_times_[0], 100e-6, 1e-6);
}

TEST_F(TfeventsTest, AWindowWithoutStepsIsOnePoint) {
  window_.index = 2;
  record([](model::EventSink& to) { to.on(kernel(1, 0, 500)); });
  const auto found = curves();
  EXPECT_THAT(found.at("gpu/busy"), ElementsAre(Pair(2, FloatNear(0.5F, 1e-6F))));
  EXPECT_FALSE(found.contains("loader/share")) << "nothing was seen that could say so";
}

}  // namespace
}  // namespace gpuprof::exporter
