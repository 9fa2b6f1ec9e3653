// SPDX-License-Identifier: Apache-2.0
//
// Element loops.
//
// Context:  any
// Owns:     nothing
// Promises: see reduction.hpp; no alignment is assumed
// Not here: payloads
#include "core/collective/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpusim {
namespace {

float half_to_float(std::uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  float value;
  if (exponent == 31)
    value = mantissa != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), -24);
  else
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (h & 0x8000) != 0 ? -value : value;
}

std::uint16_t float_to_half(float f) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(f) ? 0x8000 : 0);
  const float a = std::fabs(f);
  if (std::isnan(f)) return sign | 0x7e00;
  if (a == 0) return sign;
  if (a >= 65520.0f) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(a, &exponent);
  // One unit in the last place is 2^(exponent-11), never below 2^-24; nearbyint rounds to even.
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(a, -unit)));
  // Carries of the mantissa run into the exponent by themselves.
  return static_cast<std::uint16_t>(sign + (static_cast<std::uint32_t>(unit + 24) << 10) + steps);
}

struct Half {
  std::uint16_t bits;
  using Wide = float;
  float load() const { return half_to_float(bits); }
  void store(float f) { bits = float_to_half(f); }
};

struct Bfloat16 {
  std::uint16_t bits;
  using Wide = float;
  float load() const {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float f;
    std::memcpy(&f, &wide, sizeof f);
    return f;
  }
  void store(float f) {
    std::uint32_t wide;
    std::memcpy(&wide, &f, sizeof wide);
    if (!std::isnan(f)) wide += 0x7fff + (wide >> 16 & 1);
    bits = static_cast<std::uint16_t>(wide >> 16);
  }
};

template <typename T>
struct Plain {
  T value;
  using Wide = T;
  T load() const { return value; }
  void store(T v) { value = v; }
};

/// Calls `f` with an element of the type; false where elements cannot be computed with.
template <typename F>
bool with_type(Number number, F f) {
  switch (number) {
    case Number::kInt8:
      f(Plain<std::int8_t>{});
      return true;
    case Number::kUint8:
      f(Plain<std::uint8_t>{});
      return true;
    case Number::kInt32:
      f(Plain<std::int32_t>{});
      return true;
    case Number::kUint32:
      f(Plain<std::uint32_t>{});
      return true;
    case Number::kInt64:
      f(Plain<std::int64_t>{});
      return true;
    case Number::kUint64:
      f(Plain<std::uint64_t>{});
      return true;
    case Number::kHalf:
      f(Half{});
      return true;
    case Number::kFloat:
      f(Plain<float>{});
      return true;
    case Number::kDouble:
      f(Plain<double>{});
      return true;
    case Number::kBfloat16:
      f(Bfloat16{});
      return true;
    default:
      return false;
  }
}

template <typename Wide>
Wide joined(Combine how, Wide a, Wide b) {
  switch (how) {
    case Combine::kProduct:
      return static_cast<Wide>(a * b);
    case Combine::kMax:
      return std::max(a, b);
    case Combine::kMin:
      return std::min(a, b);
    default:
      return static_cast<Wide>(a + b);
  }
}

/// values[i] = f(values[i]) for elements of type E.
template <typename E, typename F>
void each(void* values, std::size_t count, F f) {
  auto* p = static_cast<unsigned char*>(values);
  for (std::size_t i = 0; i < count; ++i, p += sizeof(E)) {
    E e;
    std::memcpy(&e, p, sizeof e);
    e.store(f(e.load(), i));
    std::memcpy(p, &e, sizeof e);
  }
}

}  // namespace

std::size_t size_of(Number number) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return number < Number::kCount ? kSizes[static_cast<int>(number)] : 1;
}

void combine(Number number, Combine how, void* into, const void* other, std::size_t count) {
  with_type(number, [&]<typename E>(E) {
    using Wide = typename E::Wide;
    each<E>(into, count, [&](Wide value, std::size_t i) {
      E b;
      std::memcpy(&b, static_cast<const unsigned char*>(other) + i * sizeof b, sizeof b);
      return joined<Wide>(how, value, b.load());
    });
  });
}

void divide(Number number, void* values, std::size_t count, int by) {
  with_type(number, [&]<typename E>(E) {
    using Wide = typename E::Wide;
    each<E>(values, count,
            [&](Wide v, std::size_t) { return static_cast<Wide>(v / static_cast<Wide>(by)); });
  });
}

void multiply(Number number, void* values, std::size_t count, const void* factor) {
  with_type(number, [&]<typename E>(E) {
    using Wide = typename E::Wide;
    E b;
    std::memcpy(&b, factor, sizeof b);
    const Wide by = b.load();
    each<E>(values, count, [&](Wide v, std::size_t) { return static_cast<Wide>(v * by); });
  });
}

}  // namespace gpusim
