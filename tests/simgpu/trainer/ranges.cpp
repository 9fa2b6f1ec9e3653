// SPDX-License-Identifier: Apache-2.0
//
// NVTX calls.
//
// Context:  any thread
// Owns:     one leaked NVTX domain
// Promises: see ranges.hpp
// Not here: when ranges begin and end
#include "trainer/ranges.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

namespace trainer {
namespace {

bool g_on = false;

struct Data {
  nvtxDomainHandle_t domain;
  nvtxStringHandle_t load_batch;
};

const Data& data() {
  static const Data d = [] {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("sim_trainer.data");
    return Data{domain, nvtxDomainRegisterStringA(domain, "load_batch")};
  }();
  return d;
}

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t a{};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return a;
}

}  // namespace

void use_ranges(bool on) { g_on = on; }

Range::Range(const char* name, std::int64_t payload) {
  if (!g_on) return;
  if (payload < 0) {
    nvtxRangePushA(name);
    return;
  }
  nvtxEventAttributes_t a = attributes();
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = name;
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0xff3070c0;
  a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  a.payload.llValue = payload;
  nvtxRangePushEx(&a);
}

Range::~Range() {
  if (g_on) nvtxRangePop();
}

DataRange::DataRange() {
  if (!g_on) return;
  nvtxEventAttributes_t a = attributes();
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = data().load_batch;
  nvtxDomainRangePushEx(data().domain, &a);
}

DataRange::~DataRange() {
  if (g_on) nvtxDomainRangePop(data().domain);
}

std::uint64_t start_training_range() { return g_on ? nvtxRangeStartA("training") : 0; }

void end_training_range(std::uint64_t id) {
  if (g_on) nvtxRangeEnd(id);
}

void mark(const char* text) {
  if (g_on) nvtxMarkA(text);
}

void name_thread(const char* name) {
  if (g_on) nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name);
}

}  // namespace trainer
