// SPDX-License-Identifier: Apache-2.0
//
// Fake copies of libtorch, observed: what the tests of the observer share.
//
// Context:  tests
// Owns:     the memory of tensors and lists, for ever
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "gpuprof/base/clock.hpp"
#include "inject/torch/find_libtorch.hpp"
#include "inject/torch/torch.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/torch/fake_torch.hpp"

namespace gpuprof::tests {

/// One fake library and objects laid out as it has them.
class Copy {
 public:
  explicit Copy(const std::string& name) {
    const std::string path = std::string(FAKE_FOLDER) + "/lib" + name + ".so";
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    torch_ = static_cast<const FakeTorch*>(dlsym(handle, "fake_torch"));
  }
  const FakeTorch& torch() const { return *torch_; }

  FakeValue tensor(const std::vector<std::uint64_t>& sizes, std::uint16_t dtype = 6) {
    std::byte* made = memory(512);
    const std::uint32_t at = torch_->layout.sizes;
    std::uint64_t elements = 1;
    for (const std::uint64_t size : sizes) elements *= size;
    put<std::uint64_t>(made, at, sizes.size());
    std::byte* dims = made + at + 8;
    if (sizes.size() > 5) {
      dims = memory(sizes.size() * 8);
      put(made, at + 8, dims);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i)
      put(dims, static_cast<std::uint32_t>(i * 8), sizes[i]);
    put(made, at + 96, elements);
    put(made, at + 104, dtype);
    return {reinterpret_cast<std::uint64_t>(made), 1};
  }
  FakeValue undefined() const {
    return {reinterpret_cast<std::uint64_t>(torch_->undefined_tensor), 1};
  }
  static FakeValue none() { return {0, 0}; }
  static FakeValue integer(std::int64_t value) { return {static_cast<std::uint64_t>(value), 5}; }
  static FakeValue real(double value) {
    FakeValue made{0, 3};
    std::memcpy(&made.payload, &value, sizeof value);
    return made;
  }
  FakeValue boolean(bool value) const {
    // Only one byte of a boolean is written.
    return {0xabcdef00u | (value ? 1u : 0u), torch_->layout.list_tag - 4u};
  }
  FakeValue complex(double real_part, double imaginary) {
    std::byte* made = memory(128);
    const std::uint32_t at = (torch_->layout.items + 15) / 16 * 16;
    put(made, at, real_part);
    put(made, at + 8, imaginary);
    return {reinterpret_cast<std::uint64_t>(made), 4};
  }
  /// A whole number of dynamic shapes.
  FakeValue symbol() const { return {0, torch_->layout.list_tag - 4u - 3u}; }
  /// @param old As before GCC 5: nothing but an address.
  FakeValue text(const std::string& value, bool old = false) {
    std::byte* made = memory(128);
    std::byte* at = made + torch_->layout.items;
    std::byte* bytes = value.size() < 16 && !old ? at + 16 : memory(value.size() + 1);
    std::memcpy(bytes, value.c_str(), value.size() + 1);
    put(at, 0, bytes);
    if (!old) put(at, 8, value.size());
    return {reinterpret_cast<std::uint64_t>(made), torch_->layout.list_tag - 2u};
  }
  FakeValue tuple(const std::vector<FakeValue>& items) {
    std::byte* made = memory(128);
    std::byte* at = made + torch_->layout.items;
    put(at, 0, items.size());
    for (std::size_t i = 0; i < items.size() && i < 3; ++i)
      put(at, static_cast<std::uint32_t>(8 + i * sizeof(FakeValue)), items[i]);
    return {reinterpret_cast<std::uint64_t>(made), torch_->layout.list_tag - 3u};
  }
  FakeValue list(const std::vector<FakeValue>& items, bool tensors) {
    lists_.push_back(items);
    lists_.back().reserve(items.size() + 1);
    const std::uint32_t at = torch_->layout.items;
    std::byte* made = memory(128);
    put<std::uint64_t>(made, 8, 1);
    if (at == 24) put<std::uint64_t>(made, 16, 1);  // a weak count of its own
    put(made, at, lists_.back().data());
    put(made, at + 8, lists_.back().data() + items.size());
    put(made, at + 16, lists_.back().data() + lists_.back().capacity());
    put(made, at + 24, tensors ? torch_->tensor_type : static_cast<const void*>(made));
    return {reinterpret_cast<std::uint64_t>(made), torch_->layout.list_tag};
  }

  /// One operator from begin to end.
  void run(const char* name, const std::vector<FakeValue>& inputs = {}) {
    std::byte object[1024];
    torch_->begin(object, {name, -1, &inputs});
    torch_->end(object);
  }
  /// So many operators that tensors and lists are known afterwards.
  void learn() {
    const std::vector<FakeValue> inputs = {tensor({4, 3}), list({integer(7)}, false)};
    for (int i = 0; i < 20; ++i) run("learn", inputs);
  }

 private:
  template <typename T>
  static void put(std::byte* object, std::uint32_t at, T value) {
    std::memcpy(object + at, &value, sizeof value);
  }
  std::byte* memory(std::size_t bytes) {
    memory_.push_back(std::vector<std::uint64_t>((bytes + 7) / 8));
    return reinterpret_cast<std::byte*>(memory_.back().data());
  }

  const FakeTorch* torch_ = nullptr;
  std::deque<std::vector<std::uint64_t>> memory_;
  std::deque<std::vector<FakeValue>> lists_;
};

/// A segment, and everything on.
class Observed {
 public:
  Observed() { record(); }
  ~Observed() { torch::set_mode(torch::ObserveMode::kOff, 0); }

  void record(std::uint32_t detail = wire::kTorchAll) {
    on(torch::ObserveMode::kOperators, hot::kOnOperators | hot::kOnOpSteps, detail);
  }
  void on(torch::ObserveMode wanted, std::uint32_t bits, std::uint32_t detail) {
    hot::g_state.on.store(bits);
    torch::set_mode(wanted, detail);
    torch::force_rescan();
    torch::tick(base::mono_ns());
  }
  std::vector<fakes::DrainedRecord<wire::OpBegin>> begins() { return segment.all<wire::OpBegin>(); }
  std::vector<fakes::DrainedRecord<wire::OpEnd>> ends() { return segment.all<wire::OpEnd>(); }
  /// Words of an InputsDef; empty where none was sent.
  std::vector<std::uint64_t> inputs(std::uint64_t id) {
    std::vector<std::uint64_t> words;
    for (const auto& def : segment.all<wire::InputsDef>())
      if (def.body.id == id) {
        words.resize(def.body.words);
        std::memcpy(words.data(), def.tail.data(), def.body.words * 8);
      }
    return words;
  }

  fakes::InProcessSegment segment;
};

}  // namespace gpuprof::tests
