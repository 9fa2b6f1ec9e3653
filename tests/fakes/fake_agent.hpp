// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libgpuprof_inject.so: speaks the real protocol, pushes scripted records.
//
// Context:  tests; one thread
// Owns:     the socket, the mapping
// Promises: follows the plan as the real agent does: compares its step counter at every step
#pragma once

#include <cstdint>
#include <string>

#include "gpuprof/base/unique_fd.hpp"
#include "gpuprof/wire/messages.hpp"
#include "gpuprof/wire/segment.hpp"

namespace gpuprof::fakes {

class FakeAgent {
 public:
  struct Options {
    std::uint32_t woke = wire::kWakeCommand;
    std::string exe = "/usr/bin/fake";
    std::string command = std::string("fake\0--now", 10);
    std::uint64_t start_ticks = 7;
    std::uint16_t major = wire::kWireMajor;
    std::uint64_t ahead_ns = 0;  // of the clock, when it says that it records
  };
  FakeAgent() = default;
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;

  /// Connects to `ADDRESS;session=HEX`, says hello, waits for the segment. False: refused.
  bool connect(const std::string& variable, const Options& options);
  bool connect(const std::string& variable) { return connect(variable, Options{}); }
  /// The same for a daemon that came to our control socket (FakeControlSocket::wait_for_request).
  bool join(base::UniqueFd connection, std::uint64_t session, const Options& options);
  const std::string& refusal() const { return refusal_; }
  const wire::Config& config() const { return config_; }
  const std::string& step_text() const { return step_text_; }

  /// Claims the next ring buffer for a thread and opens it.
  wire::RingWriter open_ring(std::uint32_t tid, wire::RingRole role);
  void retire(std::uint32_t ring);
  /// The bytes themselves, for a hostile agent.
  std::uint8_t* bytes() const { return base_; }
  std::uint64_t total_bytes() const { return config_.segment_bytes; }
  wire::RingEntry& entry(std::uint32_t ring) const { return directory_[ring]; }
  wire::Stats& stats() const { return *stats_; }
  wire::Plan& plan() const { return *plan_; }

  /// Answers flushes and reports states, as the worker thread would. Call often.
  void process_messages();
  /// Serves until the socket closes or `timeout_ms` passed. True if closed or stopped.
  bool serve_until_stopped(int timeout_ms);
  /// Takes so long to deliver everything at the session's end.
  void delay_last_flush(int ms) { last_flush_ms_ = ms; }
  bool recording() const { return state_ == wire::AgentState::kRecording; }
  bool stopped() const { return stopped_; }

  /// One step begins, with the real agent's comparison. Returns its number.
  std::uint64_t step(wire::RingWriter& ring, wire::StepSource source);

  template <typename M>
  bool send(const M& body, const std::string& tail = {}) {
    std::byte packet[4096];
    const std::size_t bytes =
        wire::encode_message(body, tail.data(), tail.size(), packet, sizeof packet);
    return bytes != 0 && send_bytes(packet, bytes);
  }
  bool send_bytes(const void* data, std::size_t bytes);
  void send_bye();
  int socket() const { return socket_.get(); }

 private:
  bool send_hello(std::uint64_t session, const Options& options);
  bool receive_config();
  bool map(int fd);
  wire::AgentState wanted() const;

  base::UniqueFd socket_;
  std::uint8_t* base_ = nullptr;
  wire::Config config_{};
  std::string step_text_, refusal_;
  wire::RingEntry* directory_ = nullptr;
  wire::Stats* stats_ = nullptr;
  wire::Plan* plan_ = nullptr;
  std::uint32_t next_ring_ = 0;
  std::uint32_t sequence_ = 0;
  wire::AgentState state_ = wire::AgentState::kArmed;
  bool stopped_ = false;
  std::uint64_t ahead_ns_ = 0;
  int last_flush_ms_ = 0;
};

}  // namespace gpuprof::fakes
