// The loops that read rows of a block. Only kernels.cpp includes this file, once for each SIMD level.
#pragma once

#include "kernels/table.hpp"
#include "kernels/vectors.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

double largest(const double* values, std::size_t n) {
    constexpr std::size_t step = lanes<double>;
    double best = values[0];
    std::size_t i = 0;
    if (n >= step) {
        Doubles bests = load(values);
        for (i = step; i + step <= n; i += step) bests = maximum(bests, load(values + i));
        for (std::size_t lane = 0; lane < step; ++lane) best = bests[lane] > best ? bests[lane] : best;
    }
    for (; i < n; ++i) best = values[i] > best ? values[i] : best;
    return best;
}

inline std::uint64_t below(const float* entries, const float* thresholds) {
    std::uint64_t bits = 0;
    for (std::size_t v = 0; v < 64; v += lanes<float>) bits |= less_than(load(entries + v), load(thresholds + v)) << v;
    return bits;
}

// The gain of a swap that adds candidate i and removes medoid l, with d1_j and d2_j the distances of batch point j to
// its nearest and second nearest medoid:
//
// gain(i, l) = sum_j w_j max(0, d1_j - d_ij)                                    gain on points that are nearest to i
//            + sum_{j: near(j) = l} w_j (d1_j - d2_j)                           cost of removing l
//            + sum_{j: near(j) = l, d_ij < d2_j} w_j (d2_j - max(d1_j, d_ij))   part of that cost that i avoids
//
// The second line is precomputed. The other two are quick, because few points have d_ij < d2_j.
Swap evaluate_swap(const SwapView& state, const float* row, double* gains) {
    __builtin_memcpy(gains, state.removal_gains, state.k * sizeof(double));
    double shared = 0;
    const auto take = [&](std::size_t j) {
        const double d = row[j], d1 = state.nearest_distance[j], d2 = state.second_distance[j], w = state.weights[j];
        shared += w * (d1 - (d < d1 ? d : d1));
        gains[state.nearest[j]] += w * (d2 - (d < d1 ? d1 : d));
    };
    std::size_t j = 0;
    for (; j + 64 <= state.m; j += 64) {  // 64 at a time, because a branch for each vector would often be mispredicted
        std::uint64_t bits = below(row + j, state.second_distance + j);
        for (; bits; bits &= bits - 1) take(j + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
    for (; j < state.m; ++j)
        if (row[j] < state.second_distance[j]) take(j);
    const double best = largest(gains, state.k);
    // Of equal gains, that of the lowest slot counts. The bound holds if a gain is NaN, which equals nothing.
    std::size_t slot = 0;
    while (slot + 1 < state.k && gains[slot] != best) ++slot;
    return {shared + best, static_cast<std::int32_t>(slot)};
}

// Gain of adding candidate i: w_j max(d1_j - d_ij, 0) at point j, or -w_j d_ij if it is the first medoid.
Moments build_moments(const BuildView& state, const float* row) {
    constexpr std::size_t step = lanes<double>, n_sums = 8;  // n_sums is the same at every level: the bits depend on it
    using Narrow = Array<float, step>;
    Doubles sums[n_sums / step] = {}, squares[n_sums / step] = {};
    const Narrow least_gains = state.least_gain - Narrow{};
    std::size_t j = 0;
    for (; j + n_sums <= state.m; j += n_sums)
        unrolled<n_sums / step>([&](int v) __attribute__((always_inline)) {
            const std::size_t at = j + static_cast<std::size_t>(v) * step;
            Narrow distances, gains;
            __builtin_memcpy(&distances, row + at, sizeof distances);
            __builtin_memcpy(&gains, state.nearest_distance + at, sizeof gains);
            gains -= distances;
            gains = gains > least_gains ? gains : least_gains;
            const Doubles weighted = __builtin_convertvector(gains, Doubles) * load(state.weights + at);
            sums[v] += weighted;
            squares[v] += weighted * weighted;
        });
    Moments total{};
    for (; j < state.m; ++j) {
        const float gain = state.nearest_distance[j] - row[j];
        const double weighted =
            static_cast<double>(gain > state.least_gain ? gain : state.least_gain) * state.weights[j];
        total.sum += weighted;
        total.squares += weighted * weighted;
    }
    for (std::size_t s = 0; s < n_sums; ++s) {
        total.sum += sums[s / step][s % step];
        total.squares += squares[s / step][s % step];
    }
    return total;
}

// A swap of candidate i and medoid l gains at point j, with near(j) the slot of its nearest medoid:
//
// shared   w_j max(0, d1_j - d_ij)         if near(j) is not l
// alone    w_j (d1_j - min(d_ij, d2_j))    if near(j) is l
// removal  w_j (d1_j - d2_j)               the value of `alone` for a candidate that is too far away to matter
//
// The moments of a swap are those of `shared` over all points, and of `alone` instead of it over the points of slot l.
// The caller knows the moments of `removal` in each slot. So only points with d_ij < d2_j are left to add: `shared`,
// and in their slot `alone` without `shared` and `removal`.
void add_swap_moments(const SwapView& state, const float* row, Moments* moments) {
    Moments all = moments[0];
    const auto take = [&](std::size_t j) {
        const double d = row[j], d1 = state.nearest_distance[j], d2 = state.second_distance[j], w = state.weights[j];
        const double shared = w * (d1 - (d < d1 ? d : d1)), alone = w * (d1 - d), removal = w * (d1 - d2);
        Moments& slot = moments[1 + state.nearest[j]];
        all.sum += shared;
        all.squares += shared * shared;
        slot.sum += alone - shared - removal;
        slot.squares += alone * alone - shared * shared - removal * removal;
    };
    std::size_t j = 0;
    for (; j + 64 <= state.m; j += 64) {
        std::uint64_t bits = below(row + j, state.second_distance + j);
        for (; bits; bits &= bits - 1) take(j + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
    for (; j < state.m; ++j)
        if (row[j] < state.second_distance[j]) take(j);
    moments[0] = all;
}

template <class Entry>
inline double weighted_sum_of(const Entry& entry, const double* weights, std::size_t m) {
    constexpr std::size_t n_sums = 8;  // The number is the same at every level, because the bits depend on it.
    double sums[n_sums] = {};
    std::size_t j = 0;
    for (; j + n_sums <= m; j += n_sums)
        for (std::size_t s = 0; s < n_sums; ++s) sums[s] += static_cast<double>(entry(j + s)) * weights[j + s];
    double total = 0;
    for (; j < m; ++j) total += static_cast<double>(entry(j)) * weights[j];
    for (std::size_t s = 0; s < n_sums; ++s) total += sums[s];
    return total;
}

double weighted_sum(const float* row, const double* weights, std::size_t m) {
    return weighted_sum_of([=](std::size_t j) { return row[j]; }, weights, m);
}

double capped_sum(const float* row, const float* caps, const double* weights, std::size_t m) {
    return weighted_sum_of([=](std::size_t j) { return row[j] < caps[j] ? row[j] : caps[j]; }, weights, m);
}

// Returns the column of the first entry that is at most `bound`. There must be such an entry. The last vectors overlap
// those before them, because an entry may be looked at twice.
std::size_t first_not_above(const float* row, std::size_t m, float bound) {
    constexpr std::size_t step = lanes<float>;
    const Floats bounds = broadcast(bound);
    const auto above = [&](std::size_t j) { return less_than(bounds, load(row + j)); };
    const auto above_of_64 = [&](std::size_t j) {
        std::uint64_t bits = 0;
        for (std::size_t v = 0; v < 64; v += step) bits |= above(j + v) << v;
        return bits;
    };
    const auto first = [](std::size_t j, std::uint64_t bits) {
        return j + static_cast<std::size_t>(__builtin_ctzll(~bits));
    };
    std::size_t j = 0;
    if (m >= 64) {  // 64 at a time, because a branch for each vector takes longer than the comparison
        for (; j + 64 < m; j += 64)
            if (const std::uint64_t bits = above_of_64(j); ~bits) return first(j, bits);
        return first(m - 64, above_of_64(m - 64));
    }
    constexpr std::uint64_t all_lanes = (std::uint64_t{1} << step) - 1;
    for (; j + step < m; j += step)
        if (const std::uint64_t bits = above(j); bits != all_lanes) return first(j, bits);
    if (m >= step) return first(m - step, above(m - step));
    while (row[j] > bound) ++j;
    return j;
}

bool is_valid_row(const float* row, std::size_t m) {
    constexpr std::size_t step = lanes<float>;
    Vector<std::int32_t> are_valid = ~Vector<std::int32_t>{};
    std::size_t j = 0;
    for (; j + step <= m; j += step) {
        const Floats d = load(row + j);
        are_valid &= (d >= 0.0f) & (d <= __FLT_MAX__);
    }
    bool valid = true;
    for (std::size_t lane = 0; lane < step; ++lane) valid &= are_valid[lane] != 0;
    for (; j < m; ++j) valid &= row[j] >= 0 && row[j] <= __FLT_MAX__;
    return valid;
}

// The smallest and the largest of some integers.
struct Range {
    std::int32_t low, high;
};

// Returns the range of the lanes of two vectors, found by halves.
template <std::size_t n>
inline Range range_of_lanes(Array<std::int32_t, n> low, Array<std::int32_t, n> high) {
    if constexpr (n == 1) {
        return {low[0], high[0]};
    } else {
        Array<std::int32_t, n / 2> lows[2], highs[2];
        __builtin_memcpy(lows, &low, sizeof low);
        __builtin_memcpy(highs, &high, sizeof high);
        return range_of_lanes<n / 2>(lows[0] < lows[1] ? lows[0] : lows[1], highs[0] > highs[1] ? highs[0] : highs[1]);
    }
}

// Returns the range of the bits of m floats, which are read as integers, in `n_chains` vectors of n at a time: one
// chain of comparisons would wait for each of its results. The last vectors overlap those before them, because an entry
// may count twice; so m must not be less than n_chains * n.
template <std::size_t n_chains, std::size_t n>
inline Range range_of_bits(const float* row, std::size_t m) {
    using Bits = Array<std::int32_t, n>;
    constexpr std::size_t step = n_chains * n;
    const auto bits_at = [=](std::size_t j) __attribute__((always_inline)) {
        Bits bits;
        __builtin_memcpy(&bits, row + j, sizeof bits);
        return bits;
    };
    Bits low[n_chains], high[n_chains];
    unrolled<n_chains>([&](auto chain)
                           __attribute__((always_inline)) { low[chain] = high[chain] = bits_at(chain * n); });
    const auto take_in = [&](std::size_t j) __attribute__((always_inline)) {
        unrolled<n_chains>([&](auto chain) __attribute__((always_inline)) {
            const Bits bits = bits_at(j + chain * n);
            low[chain] = bits < low[chain] ? bits : low[chain];
            high[chain] = bits > high[chain] ? bits : high[chain];
        });
    };
    for (std::size_t j = step; j + step < m; j += step) take_in(j);
    take_in(m - step);
    for (std::size_t chain = 1; chain < n_chains; ++chain) {
        low[0] = low[chain] < low[0] ? low[chain] : low[0];
        high[0] = high[chain] > high[0] ? high[chain] : high[0];
    }
    return range_of_lanes<n>(low[0], high[0]);
}

inline Range range_of_bits(const float* row, std::size_t m) {
    constexpr std::size_t n = lanes<float>;
    if (m >= 4 * n) return range_of_bits<4, n>(row, m);
    if (m >= n) return range_of_bits<1, n>(row, m);
    return m >= 4 ? range_of_bits<1, 4>(row, m) : range_of_bits<1, 1>(row, m);
}

// As scan_row, for entries of any kind.
RowScan scan_any_row(const float* row, std::size_t m) {
    RowScan scan{0, row[0], row[0], true};
    for (std::size_t j = 0; j < m; ++j) {
        scan.min = row[j] < scan.min ? row[j] : scan.min;
        scan.max = row[j] > scan.max ? row[j] : scan.max;
        scan.valid &= row[j] >= 0 && row[j] <= __FLT_MAX__;
    }
    if (scan.valid) scan.argmin = static_cast<std::int32_t>(first_not_above(row, m, scan.min));
    return scan;
}

// Floats without a sign have the order of their bits. Negative numbers, -0 and some NaNs have negative bits; infinity
// and the other NaNs have larger bits than all numbers.
RowScan scan_row(const float* row, std::size_t m) {
    constexpr std::int32_t infinity = 0x7f800000;
    const Range range = range_of_bits(row, m);
    if (range.low < 0 || range.high >= infinity) return scan_any_row(row, m);
    float low, high;
    std::memcpy(&low, &range.low, sizeof low);
    std::memcpy(&high, &range.high, sizeof high);
    return {static_cast<std::int32_t>(first_not_above(row, m, low)), low, high, true};
}

}  // namespace
}  // namespace OBP_LEVEL
}  // namespace obp
