// SPDX-License-Identifier: Apache-2.0
//
// Errors as values: a sentence for a person, a code for the exit status, where it was made.
//
// Context:  daemon | cli
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gpuprof::support {

struct Error {
  std::string message;  // what, why, how to fix; no trailing newline
  int exit_status = 125;
  const char* file = "";  // where it was made
  int line = 0;
};

/// Makes an error; `exit_status` is what main would return for it. The place is the caller's
/// (by builtin: Clang 14 has no std::source_location).
inline Error error(std::string message, int exit_status = 125, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  return Error{std::move(message), exit_status, file, line};
}

/// Either a T or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T take() { return std::move(std::get<0>(state_)); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error failure) : failure_(std::move(failure)) {}
  bool ok() const { return !failure_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *failure_; }

 private:
  std::optional<Error> failure_;
};

}  // namespace gpuprof::support

#define GPUPROF_CONCAT_(a, b) a##b
#define GPUPROF_CONCAT(a, b) GPUPROF_CONCAT_(a, b)

/// Evaluates an expression of type Result<T>; returns its error, or goes on with the value in
/// `var`.
#define GPUPROF_TRY(var, expr)                                                              \
  auto GPUPROF_CONCAT(result_, __LINE__) = (expr);                                          \
  if (!GPUPROF_CONCAT(result_, __LINE__)) return GPUPROF_CONCAT(result_, __LINE__).error(); \
  auto var = GPUPROF_CONCAT(result_, __LINE__).take()

/// The same for Result<void>.
#define GPUPROF_CHECK(expr)                                                                \
  if (auto GPUPROF_CONCAT(result_, __LINE__) = (expr); !GPUPROF_CONCAT(result_, __LINE__)) \
  return GPUPROF_CONCAT(result_, __LINE__).error()
