// The loops that prepare rows for a comparison. Only kernels.cpp includes this file, once for each SIMD level.
#pragma once

#include "kernels/vectors.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

// Sums step(a, b) over the units of two rows. The number of partial sums is the same at every level, because the bits
// of the result depend on it.
template <class Step>
inline float sum_over_units(const float* a, const float* b, std::size_t n, const Step& step) {
    constexpr std::size_t n_sums = 16;
    float sums[n_sums] = {};
    std::size_t i = 0;
    for (; i + n_sums <= n; i += n_sums)
        for (std::size_t s = 0; s < n_sums; ++s) sums[s] += step(a[i + s], b[i + s]);
    for (std::size_t s = 0; i + s < n; ++s) sums[s] += step(a[i + s], b[i + s]);
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
}

// This function is not inlined, because it would crowd out the loops that rarely call it.
__attribute__((noinline)) float squared_distance(const float* a, const float* b, std::size_t n) {
    return sum_over_units(a, b, n, [](float x, float y) { return (x - y) * (x - y); });
}

float centre_row(const float* row, const float* centre, std::size_t n, float* centred) {
    for (std::size_t i = 0; i < n; ++i) centred[i] = row[i] - centre[i];
    return sum_over_units(centred, centred, n, [](float x, float y) { return x * y; });
}

double sum_of_squares(const float* row, std::size_t n) {
    constexpr std::size_t n_sums = 8;
    double sums[n_sums] = {};
    const auto square = [&](std::size_t i) { return static_cast<double>(row[i]) * static_cast<double>(row[i]); };
    std::size_t i = 0;
    for (; i + n_sums <= n; i += n_sums)
        for (std::size_t s = 0; s < n_sums; ++s) sums[s] += square(i + s);
    for (; i < n; ++i) sums[0] += square(i);
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

void scale_row(const float* row, std::size_t n, double factor, float* scaled) {
    for (std::size_t i = 0; i < n; ++i) scaled[i] = static_cast<float>(static_cast<double>(row[i]) * factor);
}

// Widens by integer operations, which all processors do alike: some have an instruction for it, which changes NaNs.
// A small number, whose digits have no leading one, becomes the difference of two larger floats, which is exact; so
// no float is subnormal, and the result does not depend on how the processor treats those.
void widen_halves(const std::uint16_t* halves, std::size_t n, float* wide) {
    constexpr std::uint32_t exponent_shift = std::uint32_t{112} << 23, smallest_normal = std::uint32_t{113} << 23;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t half = halves[i], size = half & 0x7fff, digits = size << 13;
        float shifted;
        const std::uint32_t shifted_bits = digits + smallest_normal;
        std::memcpy(&shifted, &shifted_bits, sizeof shifted);
        const float small = shifted - 0x1p-14f;  // the float of the bits `smallest_normal`
        std::uint32_t small_bits;
        std::memcpy(&small_bits, &small, sizeof small_bits);
        const std::uint32_t not_finite = size >= 0x7c00 ? exponent_shift : 0;
        const std::uint32_t bits = size < 0x0400 ? small_bits : digits + exponent_shift + not_finite;
        const std::uint32_t signed_bits = bits | (half & 0x8000) << 16;
        std::memcpy(wide + i, &signed_bits, sizeof signed_bits);
    }
}

}  // namespace
}  // namespace OBP_LEVEL
}  // namespace obp
