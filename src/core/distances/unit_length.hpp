// The cosine distance of two rows is half the squared distance of the same rows scaled to length 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace obp {

// Scales a row to length 1. A row of zeros has no direction: it stays as it is, and the result is false.
//
// The row is divided by its largest value first, because the squares of very large or very small values would overflow
// or vanish.
//
// row     IN   n values
// scaled  OUT  n values; may be `row` itself
template <class From, class To>
bool scale_to_unit_length(const From* row, std::size_t n, To* scaled) {
    double largest = 0, squares = 0;
    for (std::size_t f = 0; f < n; ++f) largest = std::max(largest, std::abs(static_cast<double>(row[f])));
    const double scale = largest > 0 ? largest : 1;
    for (std::size_t f = 0; f < n; ++f) squares += (row[f] / scale) * (row[f] / scale);
    const double length = largest > 0 ? std::sqrt(squares) : 1;
    for (std::size_t f = 0; f < n; ++f) scaled[f] = static_cast<To>(row[f] / scale / length);
    return largest > 0;
}

}  // namespace obp
