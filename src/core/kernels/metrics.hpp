// A metric is the step by which one pair of units changes an accumulator; the loop over units, rows and columns
// is written once, in fill.hpp. Included there only, once per SIMD level. As many rows are taken together as
// the registers hold next to what a step needs.
#pragma once

#include "kernels/vectors.hpp"

namespace obp {
namespace OBP_LEVEL {

template <class T>
struct Manhattan {
    using Unit = T;
    static constexpr int rows_per_group = 4;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Vector<T> step(Vector<T> sum, Vector<T> a, Vector<T> b) {
        return add_on_multiplier(sum, absolute(a - b));
    }
};

template <class T>
struct SquaredEuclidean {
    using Unit = T;
    static constexpr int rows_per_group = 4;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = false;
    // Multiply, then add: a fused operation would round differently from machines that lack it. The two ways to
    // add give the same bits and use different ports, so that rows take turns.
    template <int row>
    static Vector<T> step(Vector<T> sum, Vector<T> a, Vector<T> b) {
        const Vector<T> difference = a - b, square = difference * difference;
        return row % 2 ? add_on_multiplier(sum, square) : sum + square;
    }
};

// Not a metric, but squared Euclidean distances follow from it: see squares_from_products.
struct DotProduct {
    using Unit = float;
    static constexpr int rows_per_group = 6;
    static constexpr bool is_product = true;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Floats step(Floats sum, Floats a, Floats b) {
        return multiply_add(sum, a, b);
    }
};

template <class T>
struct Chebyshev {
    using Unit = T;
    static constexpr int rows_per_group = 4;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = true;
    template <int row>
    static Vector<T> step(Vector<T> largest, Vector<T> a, Vector<T> b) {
        return maximum(largest, absolute(a - b));
    }
};

// A unit is eight bytes of a row: exact sums of absolute differences in one instruction.
struct ManhattanBytes {
    using Unit = std::uint64_t;
    static constexpr int rows_per_group = 4;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Vector<Unit> step(Vector<Unit> sum, Vector<Unit> a, Vector<Unit> b) {
        return sum + sum_of_byte_differences(a, b);
    }
};

// A unit is a pair of bytes, widened: exact dot products, from which exact squared distances follow.
struct DotProductBytes {
    using Unit = std::uint32_t;
    static constexpr int rows_per_group = 4;
    static constexpr bool is_product = true;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Pairs step(Pairs sum, Pairs a, Pairs b) {
        return sum + products_of_pairs(a, b);
    }
};

}  // namespace OBP_LEVEL
}  // namespace obp
