// SPDX-License-Identifier: Apache-2.0
//
// Unpacker, by ISA-L.
//
// Context:  cli through analysis/commands
#include "analysis/import/json/decompressor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "analysis/messages/import_files.hpp"
#include "recording/messages/spool.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kPackedBytes = 256 * 1024;

}  // namespace

Decompressor::Decompressor(std::string path, base::UniqueFd fd)
    : path_(std::move(path)), fd_(std::move(fd)) {
  char magic[3];
  if (::pread(fd_.get(), magic, sizeof magic, 0) != sizeof magic ||
      !is_gzip(std::string_view(magic, sizeof magic)))
    return;
  state_ = std::make_unique<inflate_state>();
  isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_GZIP;
  compressed_.resize(kPackedBytes);
}

std::ptrdiff_t Decompressor::read_raw(char* to, std::size_t bytes) {
  ssize_t n = 0;
  do n = ::read(fd_.get(), to, bytes);
  while (n < 0 && errno == EINTR);
  if (n < 0) failure_ = fmt::format(messages::spool::kCannotRead, path_, std::strerror(errno));
  if (n > 0) bytes_read_ += static_cast<std::uint64_t>(n);
  return n;
}

std::size_t Decompressor::read(char* to, std::size_t bytes) {
  if (!failure_.empty() || ended_) return 0;
  if (state_ != nullptr) return decompress(to, bytes);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(read_raw(to, bytes), 0));
}

/// False at the end of the file.
bool Decompressor::refill() {
  const std::ptrdiff_t n = read_raw(compressed_.data(), compressed_.size());
  if (n <= 0) return false;
  state_->next_in = reinterpret_cast<std::uint8_t*>(compressed_.data());
  state_->avail_in = static_cast<std::uint32_t>(n);
  return true;
}

/// Behind a member: another one, else padding or what is no gzip. False: there is none.
bool Decompressor::next_member() {
  if (*state_->next_in == 0x1f) {
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    return true;
  }
  do {
    for (std::uint32_t i = 0; i < state_->avail_in; ++i)
      trailing_bytes_ += state_->next_in[i] != 0 ? 1 : 0;
    state_->avail_in = 0;
  } while (refill());
  return false;
}

std::size_t Decompressor::decompress(char* to, std::size_t bytes) {
  state_->next_out = reinterpret_cast<std::uint8_t*>(to);
  state_->avail_out = static_cast<std::uint32_t>(bytes);
  while (state_->avail_out != 0) {
    if (state_->avail_in == 0 && !refill()) {
      ended_ = true;
      break;
    }
    if (state_->block_state == ISAL_BLOCK_FINISH && !next_member()) {
      ended_ = true;
      break;
    }
    const int result = isal_inflate(state_.get());
    if (result == ISAL_DECOMP_OK || result == ISAL_END_INPUT) continue;
    failure_ = fmt::format(messages::import_files::kDamagedGzip, path_, result);
    break;
  }
  if (ended_ && failure_.empty() && state_->block_state != ISAL_BLOCK_FINISH)
    failure_ = fmt::format(messages::import_files::kTruncatedGzip, path_);
  return bytes - state_->avail_out;
}

}  // namespace gpuprof::importer
