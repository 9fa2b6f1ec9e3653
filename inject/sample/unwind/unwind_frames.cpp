// SPDX-License-Identifier: Apache-2.0
//
// Walks along frame records: the caller's frame pointer, then the return address.
//
// Context:  signal | callback (worker: unwind_prepare, unwind_release)
// Owns:     nothing
// Promises: every record lies above the one before, so a walk ends; of a copied stack nothing but
//           the copy is read
//
// For processors without a libunwind of ours. What it cannot see: the caller of a function that
// was interrupted before it made its record, or makes none; and everything beyond code that uses
// the frame pointer for something else.
#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "gpuprof/wire/records.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

namespace {

struct Record {
  std::uint64_t next, caller;
};

// A hop further than this is no stack any more.
constexpr std::uint64_t kFarthest = std::uint64_t{8} << 20;

bool read_record(const StackCopy& copy, std::uint64_t at, Record* record) {
  if (at % 8 != 0 || !base::user_address(at)) return false;
  const unsigned char* from = reinterpret_cast<const unsigned char*>(at);
  if (copy.bytes != 0) {
    if (copy.bytes < sizeof *record || at - copy.begin > copy.bytes - sizeof *record) return false;
    from = copy.data + (at - copy.begin);
  }
  *record = base::load<Record>(from);
  return true;
}

}  // namespace

bool unwind_prepare() { return true; }

void unwind_release() {}

void unwind_invalidate() {}

std::uint64_t unwind_generation() { return 1; }

UnwindResult unwind(const Registers& start, bool, const StackCopy& copy, std::uint64_t* frames,
                    std::uint32_t room, StackFootprint*) {
  UnwindResult walk{0, wire::kStackNativeTruncated};
  if (room == 0) return walk;
  frames[walk.count++] = program_counter(start);
  std::uint64_t lowest = stack_pointer(start), at = frame_pointer(start);
  for (;;) {
    Record record;
    if (at < lowest || at - lowest > kFarthest || !read_record(copy, at, &record)) return walk;
    const std::uint64_t caller = strip_pointer_auth(record.caller);
    if (!base::user_address(caller)) {
      // The outermost record is empty.
      if (caller == 0 && record.next == 0) walk.flags = 0;
      return walk;
    }
    if (walk.count == room) {
      walk.flags = wire::kStackNativeDeep;
      return walk;
    }
    frames[walk.count++] = caller;
    if (record.next == 0) {
      walk.flags = 0;
      return walk;
    }
    lowest = at + sizeof record;
    at = record.next;
  }
}

}  // namespace gpuprof::sample
