// SPDX-License-Identifier: Apache-2.0
//
// A short list of texts.
//
// Context:  worker | boundary
// Owns:     the list
#include "inject/cupti/notice_queue.hpp"

#include <stdarg.h>
#include <stdio.h>

#include <atomic>

#include "inject/hot/outbox.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint32_t kMaxNotices = 24;
constexpr std::uint32_t kNoticeBytes = 512;

struct QueuedNotice {
  const char* key;  // null: a notice
  wire::NoticeLevel level;
  std::uint32_t code;
  char text[kNoticeBytes];
};

constinit QueuedNotice g_kept[kMaxNotices] = {};
// Written under the component's lock; read without it by has_queued_notices.
constinit std::atomic<std::uint32_t> g_count{0};

QueuedNotice* next_place() { return g_count < kMaxNotices ? &g_kept[g_count++] : nullptr; }

}  // namespace

void queue_notice(wire::NoticeLevel level, std::uint32_t code, const char* format, ...) {
  QueuedNotice* place = next_place();
  if (place == nullptr) return;
  place->key = nullptr;
  place->level = level;
  place->code = code;
  va_list values;
  va_start(values, format);
  vsnprintf(place->text, sizeof place->text, format, values);
  va_end(values);
}

void queue_fact(const char* key, const char* format, ...) {
  QueuedNotice* place = next_place();
  if (place == nullptr) return;
  place->key = key;
  va_list values;
  va_start(values, format);
  vsnprintf(place->text, sizeof place->text, format, values);
  va_end(values);
}

void send_queued_notices() {
  for (std::uint32_t i = 0; i < g_count; ++i) {
    const QueuedNotice& message = g_kept[i];
    if (message.key != nullptr)
      hot::send_fact(message.key, message.text);
    else
      hot::send_notice(wire::Feature::kCuda, message.level, message.code, message.text);
  }
  g_count = 0;
}

bool has_queued_notices() { return g_count.load(std::memory_order_relaxed) != 0; }

void clear_queued_notices() { g_count = 0; }

}  // namespace gpuprof::cupti
