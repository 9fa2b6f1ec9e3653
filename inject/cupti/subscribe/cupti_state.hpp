// SPDX-License-Identifier: Apache-2.0
//
// The state of this component and the steps between "not open" and "recording", under one lock.
//
// Context:  worker | boundary
// Owns:     the subscriber slot, which kinds are on, who else uses CUPTI
// Promises: no callback takes the lock; a boundary waits for it with a deadline
// Not here: the interface (cupti.hpp), what callbacks see (callback_state.hpp)
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "inject/cupti/cupti.hpp"
#include "inject/cupti/library/api.hpp"
#include "inject/cupti/library/driver.hpp"
#include "inject/cupti/library/locate.hpp"
#include "inject/cupti/subscribe/replacement_watch.hpp"

namespace gpuprof::cupti {

enum class SubscriberState : std::uint8_t {
  kFree,  // not requested
  kOurs,
  kTaken,    // held by another client; requested again on a slow timer
  kRefused,  // CUPTI does not work here: off for good
};

/// What the application itself does with CUPTI, as the interposed functions see it.
struct ProgramProfiler {
  bool active = false;              // we keep our hands off
  std::uint64_t kinds = 0;          // bit = CUpti_ActivityKind the application enabled
  bool flushed = false;             // it flushed after its last kind was switched off
  std::uint64_t idle_since_ns = 0;  // the last thing it did, with its kinds off; 0: they are not
  // Since when it records nothing (0: it does), and our launch count then.
  std::uint64_t done_ns = 0, done_launches_at = 0;
  std::uint32_t sessions = 0;
  // What it has of our recording so far: since when (0: nothing), and our launch count then.
  std::uint64_t share_since_ns = 0, share_launches_at = 0;
};

/// What callbacks see of the program's calls (api_kinds.hpp), at the last turn.
struct ApiCallWatch {
  std::uint64_t launches = 0, returns = 0;
  std::uint64_t unreturned = 0;      // of the launches: their threads have made another call since
  std::uint64_t never_returned = 0;  // of the launches, as callbacks were switched off meanwhile
  std::uint64_t kernels = 0;         // records of kernels that were launched one by one
  // When an unreturned call, and when a kernel, was first seen since the last return; 0: not since.
  std::uint64_t called_ns = 0, ran_ns = 0;
  bool silent = false;  // for too long: CUPTI's own records are used instead
};

/// One of CUPTI's switches that we have changed, and what it was (attributes.hpp).
struct SavedAttribute {
  bool changed = false;
  std::uint8_t before = 0;
};
struct SavedAttributes {
  SavedAttribute zeroed, per_thread, thread_ids;
  bool waits_cut = false;
};

struct CuptiState {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Settings settings;
  Mode mode = Mode::kOff;
  std::atomic<bool> applied{true};  // apply_mode() has handled it; read without the lock
  // The process in which CUPTI received buffers of ours; 0: none. Read without the lock.
  std::atomic<pid_t> buffers_pid{0};

  Driver driver;
  CuptiLibrary library;
  bool open = false;         // the table in g_callback_state is loaded
  bool open_failed = false;  // reported; retried from time to time
  std::uint64_t next_open_ns = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  SubscriberState subscriber_state = SubscriberState::kFree;
  std::uint64_t retry_at_ns = 0;
  std::uint32_t not_ready_retries = 0;
  bool registered = false;  // attributes are set and our buffer callbacks are in force
  bool callbacks_in_force =
      false;                // they are, also where somebody may have come since, as far as we saw
  bool replaced = false;    // another client has put its own in their place
  std::uint64_t kinds = 0;  // bit = CUpti_ActivityKind we enabled
  SavedAttributes saved_attributes;
  ApiCallWatch call_watch;
  Mode callbacks = Mode::kOff;  // which API callbacks are on
  bool recording = false;
  bool budget_stopped = false;
  bool devices_sent = false;
  bool facts_sent = false;
  std::uint64_t recording_since_ns = 0;
  std::uint64_t next_flush_ns = 0;
  std::uint64_t next_look_ns = 0;
  ReplacementWatch replacement;
  std::uint32_t sent_notices = 0;  // kReported… notices are sent once per session
  ProgramProfiler program;
  bool exiting = false;
  bool dead = false;  // forked from a process that had CUPTI open
};

inline constexpr std::uint32_t kSentForeignClock = 1;
inline constexpr std::uint32_t kReportedReplaced = 2;
inline constexpr std::uint32_t kReportedStuck = 4;
inline constexpr std::uint32_t kReportedUnknownKind = 8;
inline constexpr std::uint32_t kReportedDiscard = 16;
inline constexpr std::uint32_t kReportedZeroTimes = 32;
inline constexpr std::uint32_t kReportedHandOver = 64;
inline constexpr std::uint32_t kReportedKept = 128;
inline constexpr std::uint32_t kReportedExpression = 256;
inline constexpr std::uint32_t kReportedLate = 512;
inline constexpr std::uint32_t kReportedLateGraphs = 1024;
inline constexpr std::uint32_t kReportedLateKernels = 2048;
inline constexpr std::uint32_t kReportedNoSlot = 4096;
inline constexpr std::uint32_t kReportedTaken = 8192;

extern CuptiState g_cupti;

/// Time since `since_ns`; 0 if that lies ahead: a caller's `now_ns` may be older than what happened
/// under the lock before it.
constexpr std::uint64_t elapsed_ns(std::uint64_t now_ns, std::uint64_t since_ns) {
  return now_ns > since_ns ? now_ns - since_ns : 0;
}

/// Holds the component's lock, or not if the deadline passed.
class CuptiLock {
 public:
  explicit CuptiLock(std::uint32_t deadline_ms);
  ~CuptiLock();
  CuptiLock(const CuptiLock&) = delete;
  CuptiLock& operator=(const CuptiLock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};

/// Whether the calling thread is the agent's worker or our helper.
bool is_own_thread();

constexpr std::uint64_t kind_bit(std::uint32_t kind) {
  return kind < 64 ? std::uint64_t{1} << kind : 0;
}

// subscribe.cpp
/// Finds and opens a copy, once. Reports why not.
bool open_cupti(CuptiState& state, std::uint64_t now_ns);
/// Becomes the subscriber; sets attributes and buffer callbacks. Reports why not.
/// True without the slot, too, where the program keeps it and does nothing with CUPTI: records need
/// none, callbacks do.
bool acquire_subscriber(CuptiState& state, std::uint64_t now_ns);
void release_subscriber(CuptiState& state);

// activity_kinds.cpp
/// Switches activity kinds on; reports which were refused.
void enable_kinds(CuptiState& state);
/// Switches them off, but for one that is dangerous to switch off.
void disable_kinds(CuptiState& state);
/// Switches API callbacks: none, those of graphs or of kernels only, or all of our list, fewer
/// where the settings say so.
void set_callbacks(CuptiState& state, Mode asked);
/// Stops the records of kernels, copies and sets. False: kernels cannot be switched off safely.
bool stop_device_kinds(CuptiState& state);
/// Notes which of them are on from now on.
void set_callback_flags(CuptiState& state, Mode wanted);

// program_profiler.cpp
/// From now on GPU events of our recording go to the program's own profiler. Reports that, once per
/// session.
void begin_program_share(CuptiState& state, std::uint64_t now_ns);
/// They no longer do, or the recording ends: reports how long that was, and how long nobody
/// recorded.
void end_program_share(CuptiState& state, std::uint64_t now_ns);

// set_mode.cpp
/// CUPTI was released: nothing is on, nothing is late.
void reset_mode();
/// The program ends: what was late until now is counted.
void count_mode_delay_at_exit();

/// A flush that takes longer than this is called hung.
inline constexpr std::uint64_t kHungNs = 5'000'000'000;

// cupti_state.cpp
/// Whether CUPTI may hold records that are wanted.
bool expects_records(const CuptiState& state, std::uint64_t now_ns);
/// Moves from the current state to the wanted one, as far as CUPTI lets us.
void apply_mode(CuptiState& state, std::uint64_t now_ns);

}  // namespace gpuprof::cupti
