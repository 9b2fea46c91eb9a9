// The cosine distance of two rows is half the squared distance of the same rows scaled to length 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "kernels/table.hpp"

namespace obp {

// Lanes that are added up apart and joined at the end: so the compiler may use vectors, and the sum has the same bits
// whatever vectors there are.
constexpr std::size_t length_lanes = 8;

template <class T>
double largest_magnitude(const T* row, std::size_t n) {
    double lanes[length_lanes] = {};
    std::size_t f = 0;
    for (; f + length_lanes <= n; f += length_lanes)
        for (std::size_t lane = 0; lane < length_lanes; ++lane)
            lanes[lane] = std::max(lanes[lane], std::abs(static_cast<double>(row[f + lane])));
    for (; f < n; ++f) lanes[0] = std::max(lanes[0], std::abs(static_cast<double>(row[f])));
    return *std::max_element(lanes, lanes + length_lanes);
}

// Returns the sum of the squares of all values, each divided by `scale`.
template <class T>
double sum_of_squares(const T* row, std::size_t n, double scale) {
    double lanes[length_lanes] = {};
    const auto square = [&](std::size_t f) {
        const double value = scale == 1 ? static_cast<double>(row[f]) : static_cast<double>(row[f]) / scale;
        return value * value;
    };
    std::size_t f = 0;
    for (; f + length_lanes <= n; f += length_lanes)
        for (std::size_t lane = 0; lane < length_lanes; ++lane) lanes[lane] += square(f + lane);
    for (; f < n; ++f) lanes[0] += square(f);
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

// Scales a row to length 1. A row of zeros has no direction: it stays as it is, and the result is false.
//
// If the values are very large or very small, their squares would overflow or vanish. The row is then divided by its
// largest value first.
//
// row     IN   n values
// scaled  OUT  n values; may be `row` itself
template <class From, class To>
bool scale_to_unit_length(const From* row, std::size_t n, To* scaled) {
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float>) {
        // The squares of floats neither overflow nor vanish in double.
        const double sum = kernels().sum_of_squares(row, n);
        if (sum > 0) {
            kernels().scale_row(row, n, 1 / std::sqrt(sum), scaled);
            return true;
        }
    }
    const double largest = largest_magnitude(row, n);
    if (largest > 1e-100 && largest < 1e100) {
        const double factor = 1 / std::sqrt(sum_of_squares(row, n, 1.0));
        for (std::size_t f = 0; f < n; ++f) scaled[f] = static_cast<To>(row[f] * factor);
        return true;
    }
    const double scale = largest > 0 ? largest : 1;
    const double length = largest > 0 ? std::sqrt(sum_of_squares(row, n, scale)) : 1;
    for (std::size_t f = 0; f < n; ++f) scaled[f] = static_cast<To>(row[f] / scale / length);
    return largest > 0;
}

}  // namespace obp
