// The metrics. A metric is a step, which adds one pair of units to an accumulator; the loop over units, rows and
// columns is written once, in fill.hpp.
//
// rows_per_group is the number of rows that are compared together with the columns in some vectors: as many as have
// room for their accumulators in the registers, next to the operands of a step.
#pragma once

#include "kernels/vectors.hpp"

namespace obp {
namespace OBP_LEVEL {

template <class T>
struct Manhattan {
    using Unit = T;
    static constexpr int rows_per_group = 4, vectors = vectors_per_panel;
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
    static constexpr int rows_per_group = 4, vectors = vectors_per_panel;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = false;
    // The product is rounded before it is added, because a fused operation would give other bits than machines that
    // lack it. The two ways to add give the same bits on different ports of the processor; odd rows use one, even rows
    // the other, so that both ports are busy.
    template <int row>
    static Vector<T> step(Vector<T> sum, Vector<T> a, Vector<T> b) {
        const Vector<T> difference = a - b, square = difference * difference;
        return row % 2 ? add_on_multiplier(sum, square) : sum + square;
    }
};

// The dot product is not a metric, but squared Euclidean distances follow from it: see squares_from_products in
// fill.hpp.
struct DotProduct {
    using Unit = float;
    static constexpr int rows_per_group = has_32_registers ? 8 : 6, vectors = has_32_registers ? 3 : 2;
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
    static constexpr int rows_per_group = 4, vectors = vectors_per_panel;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = true;
    template <int row>
    static Vector<T> step(Vector<T> largest, Vector<T> a, Vector<T> b) {
        return larger_magnitude(largest, subtract_on_multiplier(a, b));
    }
};

// A unit is eight bytes of a row. One instruction sums their absolute differences, exactly.
struct ManhattanBytes {
    using Unit = std::uint64_t;
    static constexpr int rows_per_group = 4, vectors = vectors_per_panel;
    static constexpr bool is_product = false;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Vector<Unit> step(Vector<Unit> sum, Vector<Unit> a, Vector<Unit> b) {
        return sum + sum_of_byte_differences(a, b);
    }
};

// A unit is a pair of bytes, each widened to 16 bits. The dot products are exact, and so are the squared distances that
// follow from them.
struct DotProductBytes {
    using Unit = std::uint32_t;
    static constexpr int rows_per_group = 4, vectors = vectors_per_panel;
    static constexpr bool is_product = true;
    static constexpr bool takes_maximum = false;
    template <int row>
    static Pairs step(Pairs sum, Pairs a, Pairs b) {
        return sum + products_of_pairs(a, b);
    }
};

}  // namespace OBP_LEVEL
}  // namespace obp
