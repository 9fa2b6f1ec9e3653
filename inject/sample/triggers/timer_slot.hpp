// SPDX-License-Identifier: Apache-2.0
//
// A POSIX timer that signals one thread of this process.
//
// Context:  worker
#pragma once

#include <signal.h>
#include <string.h>
#include <time.h>

#include "inject/sample/signals/handler.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

inline bool open_timer(const TriggerPlan& plan, clockid_t clock, pid_t tid, TriggerSlot* slot) {
  sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = plan.signal;
  event.sigev_value.sival_ptr = signal_cookie(tid);
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = tid;
#else
  event._sigev_un._tid = tid;
#endif
  if (timer_create(clock, &event, &slot->timer) != 0) return false;
  slot->has_timer = true;
  const timespec period{static_cast<time_t>(plan.period_ns / 1'000'000'000u),
                        static_cast<long>(plan.period_ns % 1'000'000'000u)};
  const itimerspec when{period, period};
  return timer_settime(slot->timer, 0, &when, nullptr) == 0;
}

inline void close_timer(TriggerSlot* slot) {
  if (slot->has_timer) timer_delete(slot->timer);
  slot->has_timer = false;
}

inline bool timer_intact(const TriggerSlot& slot) { return slot.has_timer; }

}  // namespace gpuprof::sample
