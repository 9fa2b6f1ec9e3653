// SPDX-License-Identifier: Apache-2.0
//
// Segments as a daemon makes them, and as nobody should: what would end the program is not taken.
#include "inject/agent/segment_map.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/ingest/decode/shared_segment.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::agent {
namespace {

class SegmentMap : public testing::Test {
 protected:
  SegmentMap() : host_(ingest::SharedSegment::create({1, 4}, 1).take()) {
    memory_ =
        ::mmap(nullptr, host_.total_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, host_.fd(), 0);
  }
  ~SegmentMap() override { ::munmap(memory_, host_.total_bytes()); }

  wire::SegmentHeader& header() { return *static_cast<wire::SegmentHeader*>(memory_); }
  bool taken() {
    if (!publish_segment(host_.fd(), host_.total_bytes())) return false;
    unpublish_segment();
    return true;
  }
  /// The same bytes in a file of `bytes`.
  base::UniqueFd copy(std::size_t bytes) const {
    base::UniqueFd fd(::memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(static_cast<ssize_t>(bytes), ::write(fd.get(), memory_, bytes));
    return fd;
  }

  ingest::SharedSegment host_;
  void* memory_;
};

TEST_F(SegmentMap, ADaemonsSegmentIsTaken) { EXPECT_TRUE(taken()); }

TEST_F(SegmentMap, AFileThatMayBecomeShorterIsNot) {
  const base::UniqueFd fd = copy(host_.total_bytes());
  EXPECT_FALSE(publish_segment(fd.get(), host_.total_bytes()));
  ASSERT_EQ(0, ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK));
  EXPECT_TRUE(publish_segment(fd.get(), host_.total_bytes()));
  unpublish_segment();
}

TEST_F(SegmentMap, AFileThatIsShorterThanItSaysIsNot) {
  const base::UniqueFd fd = copy(32768);
  ASSERT_EQ(0, ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK));
  EXPECT_FALSE(publish_segment(fd.get(), host_.total_bytes()));
}

TEST_F(SegmentMap, ARingAsLargeAsTheSegmentIsNot) {
  header().total_bytes = 1u << 20;
  host_.entry(0).capacity_bytes = 1u << 20;
  EXPECT_FALSE(publish_segment(host_.fd(), 1u << 20));
}

TEST_F(SegmentMap, APartWhoseEndIsBeyondAllAddressesIsNot) {
  const auto self = reinterpret_cast<std::uintptr_t>(&header().plan);
  header().plan.distance = static_cast<std::int64_t>(~std::uintptr_t{0} - 7 - self);
  EXPECT_EQ(nullptr, header().plan.resolve<wire::Plan>(memory_, host_.total_bytes()));
  EXPECT_FALSE(taken());
}

TEST_F(SegmentMap, APartAtAnOddPlaceIsNot) {
  header().stats.distance += 4;
  EXPECT_FALSE(taken());
}

}  // namespace
}  // namespace gpuprof::agent
