#include "rounding.hpp"

#include "search/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "kernels/table.hpp"
#include "parallel.hpp"

namespace obp {
namespace {

constexpr std::size_t rows_per_task = 64;

// Calls keep(j) for every column j whose entry is below its threshold, in order.
template <class Keep>
void for_each_below(const float* row, const float* thresholds, std::size_t m, const Keep& keep) {
    constexpr std::size_t step = 64;
    const Kernels& level = kernels();
    std::size_t j = 0;
    for (; j + step <= m; j += step)
        for (std::uint64_t bits = level.below(row + j, thresholds + j); bits; bits &= bits - 1)
            keep(j + static_cast<std::size_t>(__builtin_ctzll(bits)));
    for (; j < m; ++j)
        if (row[j] < thresholds[j]) keep(j);
}

}  // namespace

void count_below(const BlockView& rows, const float* thresholds, std::int64_t* counts, int n_threads) {
    parallel_for_each(n_threads, rows.n_rows, rows_per_task, [&](std::size_t i) {
        std::int64_t count = 0;
        for_each_below(rows.row(i), thresholds, rows.n_columns, [&](std::size_t) { ++count; });
        counts[i] = count;
    });
}

template <class Column>
bool reduce_rows(const BlockView& rows, const float* thresholds, const std::int64_t* starts, Column* columns,
                 float* values, int n_threads) {
    std::atomic<bool> fits{true};
    parallel_for_each(n_threads, rows.n_rows, rows_per_task, [&](std::size_t i) {
        const float* row = rows.row(i);
        std::int64_t at = starts[i];
        const std::int64_t end = starts[i + 1];
        for_each_below(row, thresholds, rows.n_columns, [&](std::size_t j) {
            if (at < end) {
                columns[at] = static_cast<Column>(j);
                values[at] = row[j];
            }
            ++at;
        });
        if (at != end) fits = false;
    });
    return fits;
}

template <class Column>
bool expand_rows(std::size_t n_rows, std::size_t n_columns, const std::int64_t* starts, const Column* columns,
                 const float* values, float* out, std::size_t out_stride, int n_threads) {
    std::atomic<bool> fits{true};
    parallel_for_each(n_threads, n_rows, rows_per_task, [&](std::size_t i) {
        float* row = out + i * out_stride;
        std::fill_n(row, n_columns, std::numeric_limits<float>::infinity());
        for (std::int64_t at = starts[i]; at < starts[i + 1]; ++at) {
            if (columns[at] < n_columns)
                row[columns[at]] = values[at];
            else
                fits = false;
        }
    });
    return fits;
}

template bool reduce_rows(const BlockView&, const float*, const std::int64_t*, std::uint16_t*, float*, int);
template bool reduce_rows(const BlockView&, const float*, const std::int64_t*, std::uint32_t*, float*, int);
template bool expand_rows(std::size_t, std::size_t, const std::int64_t*, const std::uint16_t*, const float*, float*,
                          std::size_t, int);
template bool expand_rows(std::size_t, std::size_t, const std::int64_t*, const std::uint32_t*, const float*, float*,
                          std::size_t, int);

}  // namespace obp
