// SPDX-License-Identifier: Apache-2.0
//
// Append-only tables: a slot is written by whoever claimed it and published by a flag.
//
// Context:  callback
// Owns:     the tables
#include "inject/nvtx/handle_tables.hpp"

#include <atomic>
#include <cstring>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"

namespace gpuprof::nvtx {

namespace {

constexpr std::uint32_t kNameBytes = 120;
constexpr std::uint32_t kThreadNames = 256;
constexpr std::uint32_t kTextPool = 2u << 20;

enum : std::uint32_t { kFree = 0, kWriting = 1, kReady = 2, kSent = 3 };

struct NamedDomain {
  std::atomic<std::uint32_t> state;
  std::uint32_t bytes;
  char name[kNameBytes];
};
struct RegisteredString {
  std::atomic<std::uint32_t> bytes_plus_one;  // 0: not ready
  std::uint32_t offset;
};
struct ThreadName {
  std::atomic<std::uint32_t> state;
  std::uint32_t tid;
  std::uint32_t bytes;
  char name[kNameBytes];
};
struct Tables {
  std::atomic<std::uint32_t> domains_used;  // slot 0 stands for the default domain
  std::atomic<std::uint32_t> strings_used;
  std::atomic<std::uint32_t> text_used;
  NamedDomain domains[kDomains];
  RegisteredString strings[kStrings];
  ThreadName threads[kThreadNames];
  char text[kTextPool];
};
// Untouched pages until something is named.
constinit Tables g_memory{};
constinit std::atomic<Tables*> g_tables{nullptr};

// Handles are addresses of our slots: a handle of another tool is distinguished by its range.
template <typename Slot>
std::uint32_t slot_of(const void* handle, const Slot* first, std::uint32_t count) {
  const auto at = reinterpret_cast<std::uintptr_t>(handle);
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  if (at < begin || at >= begin + count * sizeof(Slot)) return count;
  return static_cast<std::uint32_t>((at - begin) / sizeof(Slot));
}

std::uint32_t cut(std::uint32_t bytes, std::uint32_t room) { return bytes < room ? bytes : room; }

bool same(const NamedDomain& domain, TextView name) {
  return domain.state.load(std::memory_order_acquire) >= kReady &&
         domain.bytes == cut(name.bytes, kNameBytes) &&
         std::memcmp(domain.name, name.data, domain.bytes) == 0;
}

std::uint32_t put_utf8(std::uint32_t code, char* to) {
  if (code < 0x80) {
    to[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    to[0] = static_cast<char>(0xC0u | code >> 6);
    to[1] = static_cast<char>(0x80u | (code & 0x3Fu));
    return 2;
  }
  if (code < 0x10000) {
    to[0] = static_cast<char>(0xE0u | code >> 12);
    to[1] = static_cast<char>(0x80u | (code >> 6 & 0x3Fu));
    to[2] = static_cast<char>(0x80u | (code & 0x3Fu));
    return 3;
  }
  to[0] = static_cast<char>(0xF0u | code >> 18);
  to[1] = static_cast<char>(0x80u | (code >> 12 & 0x3Fu));
  to[2] = static_cast<char>(0x80u | (code >> 6 & 0x3Fu));
  to[3] = static_cast<char>(0x80u | (code & 0x3Fu));
  return 4;
}

}  // namespace

bool map_tables() {
  if (g_tables.load(std::memory_order_acquire) != nullptr) return true;
  std::uint32_t unused = 0;
  g_memory.domains_used.compare_exchange_strong(unused, 1, std::memory_order_relaxed);
  g_tables.store(&g_memory, std::memory_order_release);
  return true;
}

nvtxDomainHandle_t add_domain(TextView name) {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr) return nullptr;
  const std::uint32_t used = cut(tables->domains_used.load(std::memory_order_acquire), kDomains);
  for (std::uint32_t i = 1; i < used; ++i)
    if (same(tables->domains[i], name))
      return reinterpret_cast<nvtxDomainHandle_t>(&tables->domains[i]);
  const std::uint32_t index = tables->domains_used.fetch_add(1, std::memory_order_acq_rel);
  if (index >= kDomains) {
    tables->domains_used.store(kDomains, std::memory_order_relaxed);
    return reinterpret_cast<nvtxDomainHandle_t>(&tables->domains[0]);
  }
  NamedDomain& domain = tables->domains[index];
  domain.bytes = cut(name.bytes, kNameBytes);
  std::memcpy(domain.name, name.data, domain.bytes);
  domain.state.store(kReady, std::memory_order_release);
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

std::uint32_t domain_index(nvtxDomainHandle_t handle) {
  const Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr || handle == nullptr) return 0;
  const std::uint32_t index = slot_of(handle, tables->domains, kDomains);
  return index < kDomains ? index : 0;
}

nvtxStringHandle_t add_string(TextView text) {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr) return nullptr;
  const std::uint32_t index = tables->strings_used.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t offset = tables->text_used.fetch_add(text.bytes, std::memory_order_relaxed);
  if (index >= kStrings || offset + std::uint64_t{text.bytes} > kTextPool) {
    if (index >= kStrings) tables->strings_used.store(kStrings, std::memory_order_relaxed);
    if (offset > kTextPool) tables->text_used.store(kTextPool, std::memory_order_relaxed);
    return nullptr;
  }
  RegisteredString& slot = tables->strings[index];
  std::memcpy(tables->text + offset, text.data, text.bytes);
  slot.offset = offset;
  slot.bytes_plus_one.store(text.bytes + 1, std::memory_order_release);
  return reinterpret_cast<nvtxStringHandle_t>(&slot);
}

TextView string_text(nvtxStringHandle_t handle) {
  const Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr || handle == nullptr) return {"", 0};
  const std::uint32_t index = slot_of(handle, tables->strings, kStrings);
  if (index >= kStrings) return {"", 0};
  const RegisteredString& slot = tables->strings[index];
  const std::uint32_t bytes = slot.bytes_plus_one.load(std::memory_order_acquire);
  if (bytes == 0) return {"", 0};
  return {tables->text + slot.offset, bytes - 1};
}

void add_thread_name(std::uint32_t tid, TextView name) {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr) return;
  for (ThreadName& slot : tables->threads) {
    std::uint32_t state = slot.state.load(std::memory_order_acquire);
    // A slot that was reported is free again, as is one of the same thread.
    if (state == kWriting || (state == kReady && slot.tid != tid)) continue;
    if (!slot.state.compare_exchange_strong(state, kWriting, std::memory_order_acq_rel)) continue;
    slot.tid = tid;
    slot.bytes = cut(name.bytes, kNameBytes);
    std::memcpy(slot.name, name.data, slot.bytes);
    slot.state.store(kReady, std::memory_order_release);
    return;
  }
}

void send_names() {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr) return;
  char name[kNameBytes + 1];
  const std::uint32_t used = cut(tables->domains_used.load(std::memory_order_acquire), kDomains);
  for (std::uint32_t i = 1; i < used; ++i) {
    NamedDomain& domain = tables->domains[i];
    if (domain.state.load(std::memory_order_acquire) != kReady) continue;
    if (hot::g_outbox.domain == nullptr) return;
    std::memcpy(name, domain.name, domain.bytes);
    name[domain.bytes] = '\0';
    hot::g_outbox.domain(i, name);
    domain.state.store(kSent, std::memory_order_release);
  }
  for (ThreadName& slot : tables->threads) {
    std::uint32_t state = kReady;
    if (hot::g_outbox.thread == nullptr) return;
    if (!slot.state.compare_exchange_strong(state, kWriting, std::memory_order_acq_rel)) continue;
    std::memcpy(name, slot.name, slot.bytes);
    name[slot.bytes] = '\0';
    hot::g_outbox.thread(wire::Thread{slot.tid, 0, base::mono_ns(), slot.bytes, 0}, name);
    slot.state.store(kSent, std::memory_order_release);
  }
}

void resend_names() {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables == nullptr) return;
  for (NamedDomain& domain : tables->domains) {
    std::uint32_t state = kSent;
    domain.state.compare_exchange_strong(state, kReady, std::memory_order_acq_rel);
  }
}

TextView to_utf8(const wchar_t* wide, char* to, std::uint32_t room) {
  std::uint32_t bytes = 0;
  if (wide == nullptr) return {to, 0};
  for (; *wide != 0; ++wide) {
    auto code = static_cast<std::uint32_t>(*wide);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    char piece[4];
    const std::uint32_t length = put_utf8(code, piece);
    if (bytes + length > room) break;
    std::memcpy(to + bytes, piece, length);
    bytes += length;
  }
  return {to, bytes};
}

TextView as_text(const char* text) {
  if (text == nullptr) return {"", 0};
  return {text, static_cast<std::uint32_t>(std::strlen(text))};
}

}  // namespace gpuprof::nvtx
