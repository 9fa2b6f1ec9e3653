// SPDX-License-Identifier: Apache-2.0
//
// Name caches.
//
// Context:  callback
// Owns:     the table of API names
#include "inject/cupti/activity/name_ids.hpp"

#include <atomic>
#include <cstring>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/cbids.hpp"

namespace gpuprof::cupti {

namespace {

constinit std::atomic<const char*> g_runtime_names[kMaxCbid] = {};
constinit std::atomic<const char*> g_driver_names[kMaxCbid] = {};

// String ids of those names by domain; 0: not asked for yet.
constinit std::atomic<std::uint64_t> g_name_ids[2][kMaxCbid] = {};

constexpr char kUnknown[] = "unknown_api";

bool ends_with(const TextView& text, const char* tail, std::uint32_t tail_bytes) {
  return text.bytes > tail_bytes &&
         std::memcmp(text.data + text.bytes - tail_bytes, tail, tail_bytes) == 0;
}

// Cuts "_v" followed by digits only.
TextView without_version(TextView text) {
  std::uint32_t end = text.bytes;
  while (end > 0 && text.data[end - 1] >= '0' && text.data[end - 1] <= '9') --end;
  if (end < text.bytes && end > 2 && text.data[end - 1] == 'v' && text.data[end - 2] == '_')
    text.bytes = end - 2;
  return text;
}

const char* lookup(wire::ApiDomain domain, std::uint32_t cbid) {
  const char* name = nullptr;
  if (g_callback_state.api.cuptiGetCallbackName == nullptr) return kUnknown;
  const auto cupti_domain = domain == wire::ApiDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API
                                                                : CUPTI_CB_DOMAIN_DRIVER_API;
  if (g_callback_state.api.cuptiGetCallbackName(cupti_domain, cbid, &name) != CUPTI_SUCCESS)
    return kUnknown;
  return name != nullptr && name[0] != '\0' ? name : kUnknown;
}

}  // namespace

TextView strip_api_suffix(const char* name) {
  TextView text{name, static_cast<std::uint32_t>(std::strlen(name))};
  // Driver names carry the version in front of the stream suffix, runtime names behind it.
  text = without_version(text);
  if (ends_with(text, "_ptsz", 5) || ends_with(text, "_ptds", 5)) text.bytes -= 5;
  return without_version(text);
}

TextView api_name(wire::ApiDomain domain, std::uint32_t cbid) {
  if (cbid >= kMaxCbid) return TextView{kUnknown, sizeof kUnknown - 1};
  auto& slot = (domain == wire::ApiDomain::kRuntime ? g_runtime_names : g_driver_names)[cbid];
  const char* name = slot.load(std::memory_order_acquire);
  if (name == nullptr) {
    name = lookup(domain, cbid);
    if (name != kUnknown) slot.store(name, std::memory_order_release);
  }
  return strip_api_suffix(name);
}

std::uint64_t api_name_id(const hot::Guard& guard, wire::ApiDomain domain, std::uint32_t cbid,
                          std::uint64_t ts_ns) {
  auto& known = g_name_ids[domain == wire::ApiDomain::kRuntime ? 0 : 1][cbid % kMaxCbid];
  std::uint64_t id = cbid < kMaxCbid ? known.load(std::memory_order_relaxed) : 0;
  hot::RingProducer& producer = guard.producer();
  if (id != 0 && producer.strings.contains(id, producer.ring.epoch())) [[likely]]
    return id;
  const TextView name = api_name(domain, cbid);
  id = hot::intern(guard, name.data, name.bytes, ts_ns);
  if (name.data != kUnknown) known.store(id, std::memory_order_relaxed);
  return id;
}

std::uint64_t KernelNames::id_of(const hot::Guard& guard, const char* name, std::uint64_t ts_ns) {
  if (name == nullptr) return 0;
  const std::uint32_t epoch = guard.producer().ring.epoch();
  if (epoch_ != epoch) {
    for (Slot& slot : slots_) slot = Slot{};
    epoch_ = epoch;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(name);
  Slot& slot = slots_[base::mix64(address) % kSlots];
  if (slot.name != name) {
    slot.id = hot::intern(guard, name, static_cast<std::uint32_t>(std::strlen(name)), ts_ns);
    // Without room it is sent with the next record.
    if (guard.producer().strings.contains(slot.id, epoch)) slot.name = name;
  }
  return slot.id;
}

}  // namespace gpuprof::cupti
