// SPDX-License-Identifier: Apache-2.0
//
// Inputs of operators as a file shows them.
//
// Context:  daemon (export thread) | cli
// Owns:     the words of each distinct set of inputs, at most kMaxWords of them; a bounded cache
// Promises: "Input Dims" and "Input type" have the same length; hostile words never run over
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::exporter {

/// One input, decoded.
struct InputView {
  enum class Form : std::uint8_t {
    kNothing,
    kTensor,
    kTensorList,
    kNumber,
    kNumberList,
    kText,
    kTuple,
    kOther
  };
  enum class Number : std::uint8_t { kInt, kDouble, kBool, kComplex, kSymbol, kMixed };

  Form form = Form::kNothing;
  Number number = Number::kInt;
  std::uint8_t dtype = 0;
  std::uint32_t total = 0;                // entries of a list, bytes of a text, kept or not
  std::span<const std::uint64_t> values;  // sizes of a tensor; values; words of a list's entries

  /// Of a text, what was kept; a longer one ends in "…".
  std::string text() const;
};

/// Takes the next input from the front of `words`; false at the end or where they make no sense.
bool decode_next_input(std::span<const std::uint64_t>& words, InputView& input);

/// PyTorch's own spelling of a c10::ScalarType ("float", "c10::Half"); empty if not known.
std::string_view dtype_name(std::uint8_t dtype);

class InputsFormatter {
 public:
  static constexpr std::size_t kMaxWords = 8u << 20;

  void define(const model::Inputs& inputs);
  /// The words of an id; empty if it is not known.
  std::span<const std::uint64_t> words(model::InputsId id) const;
  /// `,"Input Dims":…,"Input type":…,"Concrete Inputs":…`, empty for none. Valid until the next
  /// call.
  std::string_view json_members(model::InputsId id);
  /// Dims and types alone, each tensor of a list as an input of its own.
  std::string flat_json_members(model::InputsId id) const;
  /// Sets of inputs for which there was no room.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct StoredInputs {
    std::size_t at = 0;
    std::uint32_t count = 0, flags = 0;
  };
  static constexpr std::size_t kMaxCachedBytes = 16u << 20;

  std::vector<std::uint64_t> words_;
  std::vector<StoredInputs> kept_;  // by id
  std::unordered_map<model::InputsId, std::string> cache_;
  std::size_t cached_bytes_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace gpuprof::exporter
