// SPDX-License-Identifier: Apache-2.0
//
// Tables of registered kernels and variables.
//
// Context:  static constructors and destructors of the program, application threads
// Owns:     one leaked table
// Promises: see registry.hpp
// Not here: entry points
#include "cudart/registry.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "core/driver.hpp"
#include "core/memory/memory.hpp"
#include "core/work/kernels.hpp"

namespace gpusim {

struct FatBinary {
  const void* wrapper;
  std::mutex mutex;
  bool read;
  FigureTable figures;
  Module module;
};

namespace {

struct Pending {
  FatBinary* binary;
  const void* host;
  const char* device_name;
};

struct Kernel {
  FatBinary* binary;
  const char* device_name;
  Function* function;
};

struct Variable {
  const char* device_name;
  std::size_t bytes;
  Symbol* on_device[kMaxDevices];
};

struct Registry {
  std::shared_mutex mutex;
  std::vector<Pending> pending;  ///< registered, not looked for yet
  std::unordered_map<const void*, Kernel> kernels;
  std::unordered_map<const void*, Variable> variables;
};

Registry& registry() {
  static auto* const r = new Registry;
  return *r;
}

const FigureTable* figures_of(FatBinary* binary) {
  const std::lock_guard<std::mutex> lock(binary->mutex);
  if (!binary->read) {
    const DeviceModel& m = device_model(config().model);
    if (binary->wrapper != nullptr)
      binary->figures = read_figures(binary->wrapper, m.cc_major * 10 + m.cc_minor);
    binary->read = true;
  }
  return &binary->figures;
}

/// Moves the pending registrations into the table. Caller holds the lock exclusively.
void absorb(Registry& r) {
  r.kernels.reserve(r.kernels.size() + r.pending.size());
  for (const Pending& p : r.pending)
    r.kernels.insert_or_assign(p.host, Kernel{p.binary, p.device_name, nullptr});
  r.pending.clear();
}

Function* first_use(const void* host) {
  Registry& r = registry();
  Kernel kernel{};
  {
    const std::unique_lock<std::shared_mutex> lock(r.mutex);
    absorb(r);
    const auto it = r.kernels.find(host);
    if (it == r.kernels.end()) return nullptr;
    kernel = it->second;
  }
  if (kernel.function != nullptr) return kernel.function;
  Function* made =
      create_function(&kernel.binary->module, kernel.device_name, figures_of(kernel.binary));
  const std::unique_lock<std::shared_mutex> lock(r.mutex);
  Kernel& entry = r.kernels[host];
  if (entry.function == nullptr) entry.function = made;
  return entry.function;
}

/// The function if it was used before.
Function* known(const void* host) {
  Registry& r = registry();
  const std::shared_lock<std::shared_mutex> lock(r.mutex);
  const auto it = r.pending.empty() ? r.kernels.find(host) : r.kernels.end();
  return it != r.kernels.end() ? it->second.function : nullptr;
}

}  // namespace

FatBinary* register_binary(const void* wrapper) {
  auto* b = new FatBinary{};
  b->wrapper = wrapper;
  return b;
}

void forget_binary(FatBinary* binary) {
  if (binary == nullptr) return;
  const std::lock_guard<std::mutex> lock(binary->mutex);
  binary->wrapper = nullptr;
}

void register_kernel(FatBinary* binary, const void* host, const char* device_name) {
  Registry& r = registry();
  const std::unique_lock<std::shared_mutex> lock(r.mutex);
  r.pending.push_back({binary, host, device_name});
}

void register_variable(FatBinary*, const void* host, const char* device_name, std::size_t bytes) {
  Registry& r = registry();
  const std::unique_lock<std::shared_mutex> lock(r.mutex);
  r.variables[host] = Variable{device_name, bytes, {}};
}

Function* function_at(const void* stub_or_kernel) {
  if (stub_or_kernel == nullptr) return nullptr;
  if (Function* f = known(stub_or_kernel)) return f;
  if (Function* f = first_use(stub_or_kernel)) return f;
  // A host stub is code and so readable; a handle given out by us carries the mark.
  auto* f = const_cast<Function*>(static_cast<const Function*>(stub_or_kernel));
  return live(f) ? f : nullptr;
}

const Symbol* symbol_at(const void* host) {
  Registry& r = registry();
  Context* c = current_context();
  const std::unique_lock<std::shared_mutex> lock(r.mutex);
  const auto it = r.variables.find(host);
  if (it == r.variables.end() || c == nullptr) return nullptr;
  Variable& v = it->second;
  Symbol*& s = v.on_device[c->device->ordinal];
  if (s == nullptr) {
    std::uintptr_t at = 0;
    if (allocate(c, kDeviceMemory, std::max<std::size_t>(1, v.bytes), &at) != 0) return nullptr;
    s = new Symbol{v.device_name, v.bytes, at};
  }
  return s;
}

}  // namespace gpusim
