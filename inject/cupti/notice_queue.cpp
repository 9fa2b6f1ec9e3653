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

constexpr std::uint32_t kSentences = 24;
constexpr std::uint32_t kSentenceBytes = 512;

struct Sentence {
  const char* key;  // null: a notice
  wire::NoticeLevel level;
  std::uint32_t code;
  char text[kSentenceBytes];
};

constinit Sentence g_kept[kSentences] = {};
// Written under the room's lock; read without it by sentences_waiting.
constinit std::atomic<std::uint32_t> g_count{0};

Sentence* next_place() { return g_count < kSentences ? &g_kept[g_count++] : nullptr; }

}  // namespace

void say(wire::NoticeLevel level, std::uint32_t code, const char* format, ...) {
  Sentence* place = next_place();
  if (place == nullptr) return;
  place->key = nullptr;
  place->level = level;
  place->code = code;
  va_list values;
  va_start(values, format);
  vsnprintf(place->text, sizeof place->text, format, values);
  va_end(values);
}

void state_fact(const char* key, const char* format, ...) {
  Sentence* place = next_place();
  if (place == nullptr) return;
  place->key = key;
  va_list values;
  va_start(values, format);
  vsnprintf(place->text, sizeof place->text, format, values);
  va_end(values);
}

void deliver_sentences() {
  for (std::uint32_t i = 0; i < g_count; ++i) {
    const Sentence& sentence = g_kept[i];
    if (sentence.key != nullptr)
      hot::fact(sentence.key, sentence.text);
    else
      hot::notice(wire::Feature::kCuda, sentence.level, sentence.code, sentence.text);
  }
  g_count = 0;
}

bool sentences_waiting() { return g_count.load(std::memory_order_relaxed) != 0; }

void forget_sentences() { g_count = 0; }

}  // namespace gpuprof::cupti
