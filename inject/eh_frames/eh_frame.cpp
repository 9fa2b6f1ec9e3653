// SPDX-License-Identifier: Apache-2.0
//
// Lengths, common parts and encodings (Linux Standard Base, Exception Frames).
//
// Context:  worker
// Owns:     nothing
#include "inject/eh_frames/eh_frame.hpp"

#include <string.h>

#include <algorithm>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"

namespace gpuprof::frames {

namespace {

// Of one section; what is larger is none.
constexpr std::uint64_t kMaxBytes = 64u << 20;
// Of a common part as much as its encodings can take.
constexpr std::size_t kCommonBytes = 96;
constexpr std::size_t kHeadBytes = 8;

// How a pointer is encoded (DW_EH_PE_…).
constexpr unsigned kAbsolute = 0x00, kRelative = 0x10, kFormat = 0x0f, kBase = 0xf0;
constexpr unsigned kOmitted = 0xff;

unsigned bytes_of(unsigned encoding) {
  switch (encoding & kFormat) {
    case 0x00:  // a whole address
    case 0x04:  // udata8
    case 0x0c:  // sdata8
      return 8;
    case 0x03:  // udata4
    case 0x0b:  // sdata4
      return 4;
    default:
      return 0;
  }
}

std::uint64_t value_of(const unsigned char* at, unsigned encoding) {
  if (bytes_of(encoding) == 8) return base::load<std::uint64_t>(at);
  if ((encoding & kFormat) == 0x0b)
    return static_cast<std::uint64_t>(std::int64_t{base::load<std::int32_t>(at)});
  return base::load<std::uint32_t>(at);
}

/// Bytes of a common part, taken one after the other.
class Cursor {
 public:
  Cursor(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}
  bool good() const { return good_; }
  unsigned byte() {
    if (at_ >= end_) good_ = false;
    return good_ ? *at_++ : 0;
  }
  void number() {  // LEB128, of either sign
    while (good_ && (byte() & 0x80) != 0) {
    }
  }
  void skip(unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) byte();
  }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
  bool good_ = true;
};

// What the augmentation says of the entries' addresses; kOmitted: not known.
unsigned pointer_encoding(const char* kinds, Cursor cursor) {
  for (; *kinds != '\0'; ++kinds) {
    if (*kinds == 'R') {
      const unsigned encoding = cursor.byte();
      return cursor.good() ? encoding : kOmitted;
    }
    if (*kinds == 'L') cursor.skip(1);
    if (*kinds == 'P') {
      const unsigned handler = cursor.byte();
      if (bytes_of(handler) == 0) return kOmitted;
      cursor.skip(bytes_of(handler));
    }
    if (*kinds != 'L' && *kinds != 'P' && *kinds != 'S' && *kinds != 'B') return kOmitted;
  }
  return cursor.good() ? kAbsolute : kOmitted;
}

// How entries of this common part encode addresses; kOmitted: not known, or it does not say where
// a frame begins (LuaJIT's, which is for its own handler alone).
unsigned encoding_of(const unsigned char* common, std::size_t bytes) {
  constexpr unsigned kDefinesFrame = 0x0c;  // DW_CFA_def_cfa
  Cursor cursor(common + kHeadBytes, common + bytes);
  const unsigned version = cursor.byte();
  if (version != 1 && version != 3) return kOmitted;
  char kinds[8] = {};
  for (char& kind : kinds)
    if ((kind = static_cast<char>(cursor.byte())) == '\0') break;
  if (kinds[sizeof kinds - 1] != '\0' || (kinds[0] != '\0' && kinds[0] != 'z')) return kOmitted;
  cursor.number();  // alignment of code and of data
  cursor.number();
  version == 1 ? cursor.skip(1) : cursor.number();  // the return address's register
  unsigned encoding = kAbsolute;
  if (kinds[0] == 'z') {
    const unsigned size = cursor.byte();
    if (size >= 0x80) return kOmitted;
    encoding = pointer_encoding(kinds + 1, cursor);
    cursor.skip(size);
  }
  return cursor.byte() == kDefinesFrame && cursor.good() ? encoding : kOmitted;
}

class SectionParser {
 public:
  explicit SectionParser(const SectionReader& reader) : reader_(reader) {}

  bool run(std::uintptr_t at) {
    const std::uintptr_t end = at + kMaxBytes;
    while (at < end) {
      std::uint32_t head[2] = {};
      if (!reader_.read(reader_.from, at, head, sizeof head[0])) return false;
      const std::uint32_t bytes = head[0];
      if (bytes == 0) return true;
      // 64-bit ones are written by nobody.
      if (bytes < sizeof head[1] || bytes > kMaxBytes) return false;
      if (!reader_.read(reader_.from, at + 4, &head[1], sizeof head[1])) return false;
      if (head[1] != 0 && !take(at, head)) return true;
      at += sizeof head[0] + bytes;
    }
    return false;
  }

 private:
  // Entries of one common part mostly follow each other.
  bool load_cie(std::uintptr_t at) {
    if (at == common_) return encoding_ != kOmitted;
    common_ = at;
    encoding_ = kOmitted;
    unsigned char bytes[kCommonBytes] = {};
    std::uint32_t head[2];
    if (!reader_.read(reader_.from, at, head, sizeof head)) return false;
    if (head[1] != 0 || head[0] < sizeof head[1] || head[0] > kMaxBytes) return false;
    const std::size_t size = std::min<std::size_t>(head[0] + 4, sizeof bytes);
    if (!reader_.read(reader_.from, at, bytes, size)) return false;
    encoding_ = encoding_of(bytes, size);
    return encoding_ != kOmitted;
  }

  // False: no more are wanted.
  bool take(std::uintptr_t at, const std::uint32_t (&head)[2]) {
    const std::uintptr_t common = at + 4 - head[1];
    if (!load_cie(common)) return true;
    const unsigned size = bytes_of(encoding_);
    const unsigned base = encoding_ & kBase;
    if (size == 0 || (base != kAbsolute && base != kRelative) || head[0] < 4 + 2 * size)
      return true;
    unsigned char bytes[16];
    if (!reader_.read(reader_.from, at + kHeadBytes, bytes, 2 * size)) return true;
    Fde entry{value_of(bytes, encoding_), 0, at, common, base::load<std::uint64_t>(head)};
    if (base == kRelative) entry.begin += at + kHeadBytes;
    entry.end = entry.begin + value_of(bytes + size, size == 8 ? 0x04 : 0x03);
    if (!base::user_address(entry.begin) || entry.end <= entry.begin ||
        !base::user_address(entry.end))
      return true;
    return reader_.on_fde(reader_.from, entry);
  }

  const SectionReader& reader_;
  std::uintptr_t common_ = 0;
  unsigned encoding_ = kOmitted;
};

}  // namespace

bool read_eh_frame(std::uintptr_t address, const SectionReader& reader) {
  return SectionParser(reader).run(address);
}

}  // namespace gpuprof::frames
