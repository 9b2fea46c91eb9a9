#include "rounding.hpp"

#include "search/dual.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace obp {

namespace {
constexpr std::size_t rows_per_task = 16;  // few, because the lengths of reduced rows differ widely
constexpr std::int64_t n_sums = 4;         // sums taken side by side, so that an addition need not wait for the last
}  // namespace

template <class Column>
bool are_columns_below(const Column* columns, std::size_t n_entries, std::size_t n_columns) {
    Column largest = 0;
    for (std::size_t at = 0; at < n_entries; ++at) largest = std::max(largest, columns[at]);
    return n_entries == 0 || largest < n_columns;
}

template <class Column>
void reduced_costs(std::size_t n_rows, const std::int64_t* starts, const Column* columns, const float* values,
                   const float* multipliers, const double* weights, double* costs, int n_threads) {
    // Returns twice w_j min(0, d_ij - multiplier_j). It has no branch, which would be mispredicted every other time:
    // x - |x| is 2 x if x is negative, and 0 otherwise, both without a rounding.
    const auto doubled_cost = [=](std::int64_t at) {
        const std::size_t j = columns[at];
        const double difference = static_cast<double>(values[at]) - static_cast<double>(multipliers[j]);
        return weights[j] * (difference - std::fabs(difference));
    };
    parallel_for_each(n_threads, n_rows, rows_per_task, [&](std::size_t i) {
        double sums[n_sums] = {};
        std::int64_t at = starts[i];
        for (; at + n_sums <= starts[i + 1]; at += n_sums)
            for (std::int64_t s = 0; s < n_sums; ++s) sums[s] += doubled_cost(at + s);
        for (; at < starts[i + 1]; ++at) sums[0] += doubled_cost(at);
        costs[i] = 0.5 * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    });
}

template <class Column>
void count_serving(const std::int64_t* rows, std::size_t n_chosen, const std::int64_t* starts, const Column* columns,
                   const float* values, const float* multipliers, std::size_t n_columns, std::int32_t* counts) {
    std::fill_n(counts, n_columns, 0);
    for (std::size_t i = 0; i < n_chosen; ++i)
        for (std::int64_t at = starts[rows[i]]; at < starts[rows[i] + 1]; ++at)
            counts[columns[at]] += values[at] < multipliers[columns[at]];
}

template bool are_columns_below(const std::uint16_t*, std::size_t, std::size_t);
template bool are_columns_below(const std::uint32_t*, std::size_t, std::size_t);
template void reduced_costs(std::size_t, const std::int64_t*, const std::uint16_t*, const float*, const float*,
                            const double*, double*, int);
template void reduced_costs(std::size_t, const std::int64_t*, const std::uint32_t*, const float*, const float*,
                            const double*, double*, int);
template void count_serving(const std::int64_t*, std::size_t, const std::int64_t*, const std::uint16_t*, const float*,
                            const float*, std::size_t, std::int32_t*);
template void count_serving(const std::int64_t*, std::size_t, const std::int64_t*, const std::uint32_t*, const float*,
                            const float*, std::size_t, std::int32_t*);

}  // namespace obp
