// SPDX-License-Identifier: Apache-2.0
//
// The bytes of one frame of every kind, against records.hex: a changed size or order shows there.
//
// GPUPROF_UPDATE_GOLDENS=1 writes the file anew.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "gpuprof/wire/ring_buffer.hpp"

namespace gpuprof::wire {
namespace {

// Every field has a value of its own, so that two that change places are seen.
const std::tuple kScript{
    RingOpen{0x11, 0x12, 0x13},
    Lost{0x11, 0x12, 0x13},
    StringDef{0x11, 3, 0x13},
    StackDef{0x11, 1, 1, 0x14},
    PyCodeDef{0x11, 0x12, 0x13, 0x14, 1, 1, 1, 0x18},
    Sample{0x11, 0x12, 0x13, 0x14, 0x15},
    StepMark{0x11, 0x12, 0x13, 0x14, 0x15},
    UnmatchedLaunch{0x11, 0x12},
    KernelNameMatch{0x11, 0x12},
    RangePush{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
    RangePop{0x11, 0x12, 0x13},
    RangeStart{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18},
    RangeEnd{0x11, 0x12},
    NvtxMark{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
    Launch{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19},
    ApiCall{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19},
    KernelExec{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c,
               0x1d, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27},
    MemCopy{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e,
            0x1f},
    MemSet{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d},
    Sync{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18},
    Overhead{0x11, 0x12, 0x13, 0x14, 0x15, 0x16},
    ContextInfo{0x11, 0x12, 0x13, 0x14},
    StreamInfo{0x11, 0x12, 0x13, 0x14},
    DeviceInfo{0x11, 0x12, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
               0x13, 0x14, 0x15,
               0x16, 0x17, 0x18,
               0x19, 0x1a, 0x1b,
               0x1c, 0x1d, 0x1e,
               0x1f, 0x20, 0x21,
               0x22, 0x23, 0x24},
    GraphExec{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18},
    JitActivity{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18},
    ClockSync{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
    OpBegin{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b},
    OpEnd{0x11, 0x12, 0x13, 0x14},
    InputsDef{0x11, 1, 0x13},
    TorchModuleDef{0x11, 0x12, 0x13, 3, 0x15},
    Allocation{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
    LoopDef{0x11, 0x12, 0x13, 0x14, 0x15, 0x16},
    StackLoops{0x11, 1, 0x13},
    LoopMark{0x11, 0x12, 0x13, 0x14},
};

/// The tail of a kind that has one.
template <typename R>
std::string tail_of() {
  if constexpr (std::is_same_v<R, StringDef> || std::is_same_v<R, PyCodeDef> ||
                std::is_same_v<R, TorchModuleDef>)
    return "abc";
  if constexpr (std::is_same_v<R, InputsDef> || std::is_same_v<R, StackLoops>)
    return std::string(sizeof(std::uint64_t), 'w');
  if constexpr (std::is_same_v<R, StackDef>)
    return std::string(sizeof(std::uint64_t), 'n') + std::string(sizeof(PyFrame), 'p');
  return {};
}

template <typename R>
std::string frame_text() {
  std::vector<std::byte> data(64 * 1024);
  alignas(64) RingHeader header{};
  RingWriter ring(&header, data.data(), data.size());
  const std::string tail = tail_of<R>();
  // Fails to compile for a kind the script does not hold.
  EXPECT_TRUE(
      ring.push(std::get<R>(kScript), 0, tail.data(), static_cast<std::uint32_t>(tail.size())));
  const std::uint64_t bytes = header.head.load();
  std::ostringstream out;
  out << "kind " << static_cast<int>(R::kKind) << ", body " << sizeof(R) << ", frame " << bytes
      << "\n";
  for (std::uint64_t i = 0; i < bytes; ++i) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(data[i]));
    out << text << ((i + 1) % 32 == 0 || i + 1 == bytes ? "\n" : (i + 1) % 8 == 0 ? " " : "");
  }
  return out.str();
}

template <typename... R>
std::string all_frames(RecordList<R...>) {
  static_assert(std::tuple_size_v<decltype(kScript)> == sizeof...(R),
                "the script holds a kind that is in no list");
  return (frame_text<R>() + ...);
}

TEST(WireGolden, EveryKindHasTheBytesOfTheGoldenFile) {
  const std::string now = all_frames(Records{});
  if (std::getenv("GPUPROF_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(GPUPROF_GOLDEN) << now;
    GTEST_SKIP() << "written: " << GPUPROF_GOLDEN;
  }
  std::ifstream file(GPUPROF_GOLDEN);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), now)
      << "The wire has changed: raise kWireMajor (or kWireMinor for a new kind), then update.";
}

}  // namespace
}  // namespace gpuprof::wire
