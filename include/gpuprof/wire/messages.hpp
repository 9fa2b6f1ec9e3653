// SPDX-License-Identifier: Apache-2.0
//
// Messages on the Unix socket (SOCK_SEQPACKET): one header, one body, one tail per packet.
//
// Context:  any (plain structs; reading and writing happens in agent, daemon and cli)
// Promises: a packet with another magic, a short body or tail lengths that do not add up is
//           refused whole
// Not here: ring buffer records (records.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpuprof/wire/throttle.hpp"
#include "gpuprof/wire/version.hpp"

namespace gpuprof::wire {

inline constexpr std::uint32_t kMessageMagic = 0x4c544347;  // "GCTL"
/// Our only environment variable: `ADDRESS;session=HEX;pid=N;name=NAME`. ADDRESS is a socket path,
/// `@NAME` for an abstract socket, or `armed`: there is no daemon yet, wait at the control socket
/// (wire/control_socket.hpp). pid is the process started as the command (absent: none), name is the
/// value of --name.
inline constexpr char kSocketVariable[] = "GPUPROF_SOCKET";
inline constexpr char kArmedAddress[] = "armed";

/// Longest packet either side sends or accepts.
inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;

enum class MessageType : std::uint16_t {
  // agent → daemon
  kHello = 1,
  kModule = 2,
  kModuleUnloaded = 3,
  kThread = 4,
  kNotice = 5,
  kDomainName = 6,
  kStateReport = 7,
  kFlushDone = 8,
  kBye = 9,
  kFact = 10,
  kForwardedStop = 11,
  // daemon → agent
  kConfig = 32,  // carries the segment's memfd (SCM_RIGHTS)
  kPlanChanged = 33,
  kFlush = 34,
  kStop = 35,
  kRefused = 36,
  // cli or test client → daemon
  kOpenSession = 64,
  kCommandStarted = 65,
  kCommandEnded = 66,
  kEndSession = 67,
  kCapture = 68,
  kQueryStatus = 69,
  // daemon → cli
  kSessionReady = 96,
  kProgress = 97,
  kSummary = 98,
  kFailure = 99,
  kStatus = 100,
  // cli or daemon → agent, at its control socket
  kStatusRequest = 128,
  kJoinRequest = 129,
  kStopRequest = 130,
  kDetachRequest = 131,
  // agent → cli, at its control socket
  kStatusReply = 160,
  kRequestDone = 161,
};

struct MessageHeader {
  std::uint32_t magic;  // kMessageMagic
  std::uint16_t major;  // kWireMajor
  std::uint16_t type;   // MessageType
  std::uint32_t body_bytes;
  std::uint32_t tail_bytes;
};
static_assert(sizeof(MessageHeader) == 16);

/// Why an agent woke up, as bits.
inline constexpr std::uint32_t kWakeCommand = 1;  // it is the program named on the command line
inline constexpr std::uint32_t kWakeCuda = 2;
inline constexpr std::uint32_t kWakeNvtx = 4;
inline constexpr std::uint32_t kWakePython = 8;
inline constexpr std::uint32_t kWakeAttach = 16;
/// Not a reason: the same agent connects again (its worker was parked during a fork) and keeps
/// the segment it has.
inline constexpr std::uint32_t kWakeReconnect = 32;
inline constexpr std::uint32_t kWakeCpuTime = 64;  // one of its threads used some CPU time

/// First message of an agent; repeated with more bits when it later detects CUDA, NVTX or Python.
/// Tail: executable path, then command line (arguments separated by NUL, cut at 2048 bytes).
struct Hello {
  static constexpr MessageType kType = MessageType::kHello;
  std::uint16_t major, minor;
  std::uint32_t wake_reasons;  // kWake…
  std::uint32_t pid, ppid;
  std::uint64_t mono_ns, real_ns;
  std::uint64_t process_start_ticks;  // /proc/PID/stat field 22: distinguishes a reused pid
  std::uint32_t exe_bytes, command_bytes;
  std::uint64_t load_ns;  // CLOCK_MONOTONIC when our constructor ran
  std::uint64_t session;  // from GPUPROF_SOCKET
};

/// A mapped ELF object. Tail: build id, then path.
struct Module {
  static constexpr MessageType kType = MessageType::kModule;
  std::uint64_t load_bias;   // added to the file's virtual addresses
  std::uint64_t start, end;  // mapped range
  std::uint64_t seen_ns;
  std::uint32_t build_id_bytes, path_bytes;
};
struct ModuleUnloaded {
  static constexpr MessageType kType = MessageType::kModuleUnloaded;
  std::uint64_t load_bias;
  std::uint64_t start;
  std::uint64_t unloaded_ns;
};

/// A thread appeared, was renamed or ended. Tail: name.
struct Thread {
  static constexpr MessageType kType = MessageType::kThread;
  std::uint32_t tid;
  std::uint32_t flags;  // kThread…
  std::uint64_t ts_ns;
  std::uint32_t name_bytes, trigger;  // SamplerKind in use for it
};
inline constexpr std::uint32_t kThreadExited = 1;
inline constexpr std::uint32_t kThreadBlocksSignal = 2;  // blocks the sampling signal
inline constexpr std::uint32_t kThreadWorker = 4;        // the worker
inline constexpr std::uint32_t kThreadNoTrigger = 8;

/// A sentence for the user: what did not work, why. Tail: text.
struct Notice {
  static constexpr MessageType kType = MessageType::kNotice;
  std::uint32_t feature;  // Feature
  std::uint32_t level;    // NoticeLevel
  std::uint32_t code;     // CUptiResult or errno, 0 if none
  std::uint32_t text_bytes;
  std::uint64_t ts_ns;
};
enum class Feature : std::uint32_t {
  kGeneral = 0,
  kCuda = 1,
  kNvtx = 2,
  kTorch = 3,
  kPython = 4,
  kNative = 5,
  kSteps = 6,
};
enum class NoticeLevel : std::uint32_t { kInfo = 0, kMissing = 1, kFailure = 2 };

/// One key = value for the trace's metadata. Tail: key, then value.
struct Fact {
  static constexpr MessageType kType = MessageType::kFact;
  std::uint32_t key_bytes, value_bytes;
};

struct DomainName {
  static constexpr MessageType kType = MessageType::kDomainName;
  std::uint32_t domain;
  std::uint32_t name_bytes;
};

/// The agent has changed state.
struct StateReport {
  static constexpr MessageType kType = MessageType::kStateReport;
  std::uint32_t state;      // AgentState
  std::uint32_t sequence;   // Plan::sequence it responds to
  std::uint64_t ts_ns;      // when everything requested was on (or off)
  std::uint64_t steps;      // agent's counter then
  std::uint64_t switch_ns;  // how long the switch took
};

struct FlushDone {
  static constexpr MessageType kType = MessageType::kFlushDone;
  std::uint64_t token;
  std::uint64_t ts_ns;
};

/// The process is about to end or the agent stops for good.
struct Bye {
  static constexpr MessageType kType = MessageType::kBye;
  std::uint32_t reason;  // ByeReason
  std::uint32_t reserved;
  std::uint64_t ts_ns;
};
enum class ByeReason : std::uint32_t {
  kExit = 0,
  kExec = 1,
  kStopped = 2,
  kDisabled = 3,
  kTakenOver = 4,  // another daemon has it now
  kDetached = 5,   // `gpuprof detach`
};

/// A client at the process's control socket has requested the end of the session (`gpuprof stop`).
struct ForwardedStop {
  static constexpr MessageType kType = MessageType::kForwardedStop;
  std::uint32_t pid;  // of that client
  std::uint32_t reserved;
};

enum class SamplerKind : std::uint32_t {
  kOff = 0,
  kAuto = 1,
  kPerf = 2,
  kCpuTimer = 3,
  kTgkill = 4,
  kWallTestOnly = 5,
};

/// What may be traced, as bits (-t).
inline constexpr std::uint32_t kTraceCuda = 1;
inline constexpr std::uint32_t kTraceNvtx = 2;
inline constexpr std::uint32_t kTraceTorch = 4;
inline constexpr std::uint32_t kTracePython = 8;
inline constexpr std::uint32_t kTraceNative = 16;
inline constexpr std::uint32_t kTraceAll = 31;

/// Settings for one process. Tail: step specification text (name or expression).
struct Config {
  static constexpr MessageType kType = MessageType::kConfig;
  std::uint16_t major, minor;
  std::uint32_t trace;        // kTrace…
  std::uint32_t sampler;      // SamplerKind requested
  std::uint32_t rate_hz;      // 0: no sampling
  std::uint32_t step_source;  // StepSource
  std::uint32_t step_text_bytes;
  std::uint32_t flush_period_ms;  // cuptiActivityFlushAll(0) while recording
  std::uint32_t cuda_graph_mode;  // 0 node, 1 graph
  std::uint32_t launch_stacks;    // 0 off, 1 on
  std::uint32_t blocked_threads;  // 0 off, 1 on
  std::uint32_t cupti_buffer_bytes, cupti_buffer_count;
  std::uint32_t torch_detail;      // kTorch…
  std::uint32_t measure_overhead;  // 1: RingHeader::overhead_ns is kept
  std::uint64_t segment_bytes;
  std::uint64_t daemon_pid;
};
/// What is recorded of each operator besides name, times and sequence number.
inline constexpr std::uint32_t kTorchShapes = 1;   // --record-shapes
inline constexpr std::uint32_t kTorchStack = 2;    // --with-stack
inline constexpr std::uint32_t kTorchModules = 4;  // --with-modules
inline constexpr std::uint32_t kTorchMemory = 8;   // --profile-memory
inline constexpr std::uint32_t kTorchAll = 15;

struct PlanChanged {
  static constexpr MessageType kType = MessageType::kPlanChanged;
  std::uint64_t sequence;
};
/// Deliver everything that is complete (forced: everything), then send FlushDone.
struct Flush {
  static constexpr MessageType kType = MessageType::kFlush;
  std::uint64_t token;
  std::uint64_t forced;
};
/// The session is over for this process. It waits at its control socket again, or detaches if its
/// JoinRequest requested that (kJoinThenDetach).
struct Stop {
  static constexpr MessageType kType = MessageType::kStop;
  std::uint64_t reason;
};
/// The daemon will not serve this peer. Tail: sentence.
struct Refused {
  static constexpr MessageType kType = MessageType::kRefused;
  std::uint32_t code;
  std::uint32_t text_bytes;
};

/// Tail: options as `key=value` lines (recording/session/session_options).
struct OpenSession {
  static constexpr MessageType kType = MessageType::kOpenSession;
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};
/// Tail: value for GPUPROF_SOCKET.
struct SessionReady {
  static constexpr MessageType kType = MessageType::kSessionReady;
  std::uint64_t session;
  std::uint32_t daemon_pid;
  std::uint32_t address_bytes;
};
/// A running process is to be recorded, too: the daemon joins it at its control socket. Tail: the
/// control socket's path as the daemon sees it, or `@NAME`. pid 0 and no tail: no more will follow.
struct Capture {
  static constexpr MessageType kType = MessageType::kCapture;
  std::uint32_t pid;
  std::uint32_t flags;  // kJoin…
  std::uint32_t text_bytes;
  std::uint32_t
      program;  // support::exec_fingerprint() of the intended program; 0: whatever runs there
};
struct CommandStarted {
  static constexpr MessageType kType = MessageType::kCommandStarted;
  std::uint32_t pid;
  std::uint32_t reserved;
};
struct CommandEnded {
  static constexpr MessageType kType = MessageType::kCommandEnded;
  std::int32_t wait_status;  // as returned by waitpid
  std::uint32_t reserved;
};
/// Finish now: close windows, write files, send the summary.
struct EndSession {
  static constexpr MessageType kType = MessageType::kEndSession;
  std::uint64_t reserved;
};
/// Tail: one line for a tty.
struct Progress {
  static constexpr MessageType kType = MessageType::kProgress;
  std::uint64_t done, total;  // events; total 0: unknown
  std::uint32_t text_bytes, reserved;
};
/// One part of the summary (JSON, recording/session/summary); `more` = 1: another part follows.
struct Summary {
  static constexpr MessageType kType = MessageType::kSummary;
  std::uint32_t text_bytes;
  std::uint32_t more;
};
/// Answered with Status.
struct QueryStatus {
  static constexpr MessageType kType = MessageType::kQueryStatus;
  std::uint64_t reserved;
};
/// Tail: one line for the session, one for each of its processes.
struct Status {
  static constexpr MessageType kType = MessageType::kStatus;
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};
/// A request could not be carried out. Tail: sentence.
struct Failure {
  static constexpr MessageType kType = MessageType::kFailure;
  std::uint32_t code;
  std::uint32_t text_bytes;
};

/// Writes one packet into `to`; returns its length, or 0 if it does not fit.
template <typename M>
std::size_t encode_message(const M& body, const void* tail, std::size_t tail_bytes, std::byte* to,
                           std::size_t room) {
  static_assert(std::is_trivially_copyable_v<M> && std::has_unique_object_representations_v<M>);
  if (tail_bytes > kMaxPacketBytes) return 0;
  const std::size_t total = sizeof(MessageHeader) + sizeof(M) + tail_bytes;
  if (total > room || total > kMaxPacketBytes) return 0;
  const MessageHeader header{kMessageMagic, kWireMajor, static_cast<std::uint16_t>(M::kType),
                             sizeof(M), static_cast<std::uint32_t>(tail_bytes)};
  std::memcpy(to, &header, sizeof header);
  std::memcpy(to + sizeof header, &body, sizeof body);
  if (tail_bytes != 0) std::memcpy(to + sizeof header + sizeof body, tail, tail_bytes);
  return total;
}

/// One parsed packet; its pointers borrow the packet.
struct Packet {
  MessageType type;
  const std::byte* body;
  std::size_t body_bytes;
  const char* tail;
  std::size_t tail_bytes;

  /// The body as M; false when this is another message or too short.
  template <typename M>
  bool as(M* out) const {
    if (type != M::kType || body_bytes < sizeof(M)) return false;
    std::memcpy(out, body, sizeof(M));
    return true;
  }
};

/// False unless the lengths add up and the magic is right. Checking the major version is left to
/// the caller.
inline bool parse_packet(const std::byte* data, std::size_t bytes, Packet* out,
                         std::uint16_t* major) {
  MessageHeader header;
  if (bytes < sizeof header) return false;
  std::memcpy(&header, data, sizeof header);
  if (header.magic != kMessageMagic) return false;
  if (std::uint64_t{header.body_bytes} + header.tail_bytes != bytes - sizeof header) return false;
  *major = header.major;
  const std::byte* body = data + sizeof header;
  *out = Packet{static_cast<MessageType>(header.type), body, header.body_bytes,
                reinterpret_cast<const char*>(body + header.body_bytes), header.tail_bytes};
  return true;
}

}  // namespace gpuprof::wire
