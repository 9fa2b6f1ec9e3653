// SPDX-License-Identifier: Apache-2.0
//
// A gzip file of one member, deflated by two threads while the caller formats; by the caller alone
// where no thread can be made.
//
// Context:  daemon (export thread) | cli
// Owns:     the file, a helper thread and a fixed set of chunks, until finish or destruction
// Promises: one member (browsers ignore what follows the first); chunks in the order given; the
//           caller helps when the helper falls behind, so memory is fixed and no core idles
// Not here: what is in it (buffered_writer.hpp)
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::exporter {

/// Deflates chunks as independent blocks and joins them and their checksums, as pigz does.
class GzipFile {
 public:
  static constexpr std::size_t kChunkBytes = 1024 * 1024;

  /// Creates `path` (must not exist). Plain: the same file without compression.
  static support::Result<std::unique_ptr<GzipFile>> create(const std::string& path,
                                                           bool plain = false);
  ~GzipFile();

  /// An empty chunk with at least kChunkBytes of capacity.
  std::vector<char> take_chunk();
  /// Hands over the first `used` bytes of `chunk`.
  void put_chunk(std::vector<char> chunk, std::size_t used);
  /// Writes the rest and the trailer, syncs nothing; bytes of the file.
  support::Result<std::uint64_t> finish();

 private:
  struct Job;
  class Deflater;

  GzipFile(std::string path, base::UniqueFd fd, bool plain);
  void start_helper();
  void help(Deflater& deflater);
  bool deflate_next(std::unique_lock<std::mutex>& lock, Deflater& deflater);
  void write_done(std::unique_lock<std::mutex>& lock);
  bool write_all(const std::uint8_t* data, std::size_t bytes);
  void stop_helper();

  std::string path_;
  base::UniqueFd fd_;
  const bool plain_;
  std::unique_ptr<Deflater> own_deflater_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;  // not begun
  std::deque<std::shared_ptr<Job>> order_;    // not written, in file order
  std::vector<std::vector<char>> spare_;
  std::vector<std::vector<std::uint8_t>> free_compressed_buffers_;
  bool writing_ = false, stopping_ = false;
  int error_ = 0;
  std::uint32_t crc_ = 0;
  std::uint64_t raw_bytes_ = 0, file_bytes_ = 0;
  std::thread helper_;
};

}  // namespace gpuprof::exporter
