// SPDX-License-Identifier: Apache-2.0
//
// What a fake libtorch does for a test: operators with inputs of the test's making.
//
// Context:  tests
// Owns:     nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::tests {

/// An IValue.
struct FakeValue {
  std::uint64_t payload;
  std::uint64_t tag;
};

/// Where this copy keeps what the observer reads; see the names of FunctionLayout and InputLayout.
struct FakeLayout {
  std::uint32_t shift;     // of the thread's number and the scope
  std::uint32_t sequence;  // of a RecordFunction
  bool has_map;            // named inputs, after the others
  bool twice;              // the sequence number is in a second place too
  std::uint32_t sizes;     // of a tensor
  std::uint32_t items;     // of a list
  std::uint32_t list_tag;
};

struct FakeOperator {
  const char* name;
  std::int64_t sequence = -1;
  const std::vector<FakeValue>* inputs = nullptr;
  std::uint64_t forward_thread = 0;
  std::uint32_t scope = 0;
};

/// What a fake library exports beside libtorch's own symbols, under "fake_torch".
struct FakeTorch {
  FakeLayout layout;
  const void* undefined_tensor;
  const void* tensor_type;
  /// A RecordFunction begins in `object`, which has 1024 bytes; ends where it is given back.
  void (*begin)(std::byte* object, const FakeOperator& what);
  void (*end)(std::byte* object);
  std::uint32_t (*callbacks)();  // registered now
  std::uint64_t (*boxed)();      // operators that were begun with inputs
};

}  // namespace gpuprof::tests
