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

}  // namespace
}  // namespace OBP_LEVEL
}  // namespace obp
