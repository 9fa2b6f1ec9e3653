// SPDX-License-Identifier: Apache-2.0
//
// The shared file of a communicator.
//
// Context:  application threads and the pump
// Promises: payloads are written with pwrite, so a full /dev/shm drops a payload and never kills
// Not here: collectives
#include "core/collective/rank_segment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/clock.hpp"
#include "core/work/stream_queue.hpp"

namespace gpusim {

struct RankMember {
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint32_t> left;
  std::atomic<std::uint64_t> started;  ///< start time of the process, to know a reused id
  std::atomic<std::uint64_t> said;     ///< number of its last exchange
  std::int64_t numbers[2][2];          ///< of its last two exchanges
};

namespace {

using Member = RankMember;

constexpr const char* kFolder = "/dev/shm";
constexpr std::uint64_t kRoundDepth = 8, kPairDepth = 2;
/// How often a rank that is waited for is looked up in /proc.
constexpr std::uint64_t kLookNs = 20000000;

std::string file_prefix() { return "gpusim-nccl-" + std::to_string(geteuid()) + "-"; }

std::string path_of(const std::string& key) { return kFolder + ("/" + file_prefix()) + key; }

/// Start time of a process in clock ticks, 0 if it is dead or a zombie.
std::uint64_t process_start(pid_t pid) {
  char path[64], text[1024] = {};
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kill(pid, 0) == 0 && access("/proc/self/stat", R_OK) != 0 ? 1 : 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char* p = n > 0 ? std::strrchr(text, ')') : nullptr;
  if (p == nullptr || p[1] == '\0' || p[2] == 'Z' || p[2] == 'X') return 0;
  p += 2;
  // The state is field 3, the start time field 22.
  for (int field = 3; field < 22 && p != nullptr; ++field) p = std::strchr(p + 1, ' ');
  return p != nullptr ? std::strtoull(p, nullptr, 10) + 1 : 0;
}

bool alive(const Member& m) { return process_start(m.pid.load()) == m.started.load(); }

struct Sizes {
  explicit Sizes(int ranks, std::size_t header_bytes) {
    const auto n = static_cast<std::size_t>(ranks);
    rounds = header_bytes;
    pairs = rounds + kRoundDepth * n * sizeof(RankArrival);
    round_payload = (pairs + n * n * kPairDepth * 2 * sizeof(RankArrival) + 4095) / 4096 * 4096;
    pair_payload = round_payload + kRoundDepth * kRoundPayload;
    whole = pair_payload + n * n * kPairDepth * kPairPayload;
  }
  std::size_t rounds, pairs, round_payload, pair_payload, whole;
};

}  // namespace

struct RankSegment::Header {
  std::atomic<std::uint32_t> ranks;
  std::atomic<std::uint32_t> joined;
  Member members[kMaxRanks];
};

std::shared_ptr<RankSegment> RankSegment::join(const std::string& key, int ranks, int rank) {
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks) return nullptr;
  std::shared_ptr<RankSegment> s(new RankSegment);
  const Sizes sizes(ranks, sizeof(Header));
  s->key_ = key;
  s->rank_ = rank;
  s->ranks_ = ranks;
  s->size_ = sizes.whole;
  s->fd_ = open(path_of(key).c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (s->fd_ < 0 || ftruncate(s->fd_, static_cast<off_t>(sizes.whole)) != 0) return nullptr;
  // The part that is touched directly must exist, or a full file system would be a SIGBUS.
  if (posix_fallocate(s->fd_, 0, static_cast<off_t>(sizes.round_payload)) != 0) return nullptr;
  void* p = mmap(nullptr, sizes.whole, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd_, 0);
  if (p == MAP_FAILED) return nullptr;
  s->header_ = static_cast<Header*>(p);
  std::uint32_t expected = 0;
  const auto wanted = static_cast<std::uint32_t>(ranks);
  if (!s->header_->ranks.compare_exchange_strong(expected, wanted) && expected != wanted)
    return nullptr;
  Member& me = s->header_->members[rank];
  me.started.store(process_start(getpid()));
  me.pid.store(getpid());
  if (s->header_->joined.fetch_add(1) + 1 == wanted) unlink(path_of(key).c_str());
  return s;
}

RankSegment::~RankSegment() {
  if (header_ != nullptr) {
    leave();
    munmap(header_, size_);
  }
  if (fd_ >= 0) close(fd_);
}

bool RankSegment::all_joined() const {
  return header_->joined.load() >= static_cast<std::uint32_t>(ranks_);
}

bool RankSegment::wait_for_all() {
  for (Backoff patience; !all_joined(); patience.wait()) {
    for (int r = 0; r < ranks_; ++r)
      if (header_->members[r].pid.load() != 0 && has_died(r) && !all_joined()) return false;
  }
  return true;
}

bool RankSegment::shares_process() const {
  for (int r = 0; r < ranks_; ++r)
    if (r != rank_ && header_->members[r].pid.load() == getpid()) return true;
  return false;
}

void RankSegment::leave() {
  header_->members[rank_].left.store(1);
  if (!all_joined()) unlink(path_of(key_).c_str());
}

bool RankSegment::has_died(int rank) {
  const Member& m = header_->members[rank];
  if (dead_[rank] || m.left.load() != 0) return true;
  const std::uint64_t now = now_ns();
  if (now < last_check_ns_[rank] + kLookNs) return false;
  last_check_ns_[rank] = now;
  dead_[rank] = m.pid.load() != 0 && !alive(m);
  return dead_[rank];
}

RendezvousSlot RankSegment::round(std::uint64_t number) const {
  const Sizes sizes(ranks_, sizeof(Header));
  const std::uint64_t slot = number % kRoundDepth;
  auto* cells =
      reinterpret_cast<RankArrival*>(reinterpret_cast<unsigned char*>(header_) + sizes.rounds);
  RendezvousSlot m{
      cells + slot * static_cast<std::uint64_t>(ranks_), ranks_,       {}, number, kRoundDepth,
      sizes.round_payload + slot * kRoundPayload,        kRoundPayload};
  for (int r = 0; r < ranks_; ++r) m.ranks[r] = r;
  return m;
}

RendezvousSlot RankSegment::pair(int from, int to, std::uint64_t number) const {
  const Sizes sizes(ranks_, sizeof(Header));
  const std::uint64_t slot =
      static_cast<std::uint64_t>(from * ranks_ + to) * kPairDepth + number % kPairDepth;
  auto* cells =
      reinterpret_cast<RankArrival*>(reinterpret_cast<unsigned char*>(header_) + sizes.pairs);
  return {cells + slot * 2, 2,          {from, to},
          number,           kPairDepth, sizes.pair_payload + slot * kPairPayload,
          kPairPayload};
}

bool RankSegment::post(const RendezvousSlot& m, int side, std::uint64_t start_ns,
                       std::size_t offset, const void* data, std::size_t bytes) {
  for (int i = 0; m.number > m.depth && i < m.sides; ++i)
    if (m.cells[i].done.load(std::memory_order_acquire) + m.depth < m.number &&
        !has_died(m.ranks[i]))
      return false;
  RankArrival& mine = m.cells[side];
  mine.start_ns = start_ns;
  mine.carried = 0;
  if (bytes > 0 && offset + bytes <= m.payload_bytes &&
      pwrite(fd_, data, bytes, static_cast<off_t>(m.payload + offset)) ==
          static_cast<ssize_t>(bytes))
    mine.carried = bytes;
  mine.posted.store(m.number, std::memory_order_release);
  return true;
}

bool RankSegment::all_arrived(const RendezvousSlot& m, std::uint64_t* latest_ns) {
  std::uint64_t latest = 0;
  for (int i = 0; i < m.sides; ++i) {
    if (m.cells[i].posted.load(std::memory_order_acquire) != m.number) {
      if (!has_died(m.ranks[i])) return false;
      // It may have arrived just before it left.
      if (m.cells[i].posted.load(std::memory_order_acquire) != m.number) {
        latest = std::max(latest, now_ns());
        continue;
      }
    }
    latest = std::max(latest, m.cells[i].start_ns);
  }
  *latest_ns = latest;
  return true;
}

const unsigned char* RankSegment::carried(const RendezvousSlot& m, int side, std::size_t offset,
                                          std::size_t bytes) const {
  const RankArrival& a = m.cells[side];
  if (a.posted.load(std::memory_order_acquire) != m.number || a.carried < bytes || bytes == 0)
    return nullptr;
  return reinterpret_cast<const unsigned char*>(header_) + m.payload + offset;
}

void RankSegment::finish(const RendezvousSlot& m, int side) {
  m.cells[side].done.store(m.number, std::memory_order_release);
}

bool RankSegment::exchange(std::int64_t first, std::int64_t second, std::int64_t* firsts,
                           std::int64_t* seconds) {
  const std::uint64_t number = ++exchanges_;
  Member& me = header_->members[rank_];
  // Two entries are enough: nobody begins the next exchange but one before all have read this one.
  me.numbers[number % 2][0] = first;
  me.numbers[number % 2][1] = second;
  me.said.store(number, std::memory_order_release);
  for (int r = 0; r < ranks_; ++r) {
    const Member& other = header_->members[r];
    for (Backoff patience; other.said.load(std::memory_order_acquire) < number; patience.wait())
      if (has_died(r)) return false;
    firsts[r] = other.numbers[number % 2][0];
    seconds[r] = other.numbers[number % 2][1];
  }
  return true;
}

void sweep_segments() {
  const std::string prefix = file_prefix();
  DIR* folder = opendir(kFolder);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (std::strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
    // Joining as nobody: only the list of members is read.
    const std::string path = std::string(kFolder) + "/" + entry->d_name;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    auto members = std::make_unique<Member[]>(kMaxRanks);
    const std::size_t bytes = sizeof(Member) * kMaxRanks;
    const bool whole = pread(fd, static_cast<void*>(members.get()), bytes,
                             2 * sizeof(std::atomic<std::uint32_t>)) == static_cast<ssize_t>(bytes);
    close(fd);
    const auto begin = members.get();
    const auto used = [](const Member& m) { return m.pid.load() != 0; };
    if (whole && std::any_of(begin, begin + kMaxRanks, used) &&
        std::none_of(begin, begin + kMaxRanks,
                     [&](const Member& m) { return used(m) && alive(m); }))
      unlink(path.c_str());
  }
  closedir(folder);
}

}  // namespace gpusim
