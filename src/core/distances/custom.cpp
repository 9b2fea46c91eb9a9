#include "rounding.hpp"

#include "distances/custom.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace obp {
namespace {

// A task is a short part of a row, because a slow function is worth several threads even for a single row.
constexpr std::size_t columns_per_task = 64;

}  // namespace

double CustomMetric::compare(const double* a, const double* b, std::size_t n_features) const {
    const auto n = static_cast<std::ptrdiff_t>(n_features);
    return function_ ? function_(a, b, n) : function_with_data_(a, b, n, data_);
}

void CustomMetric::fill(const double* rows, std::size_t n_rows, const double* columns, std::size_t n_columns,
                        std::size_t n_features, bool rows_first, double* out, int n_threads) const {
    const std::size_t tasks_per_row = (n_columns + columns_per_task - 1) / columns_per_task;
    parallel_for(n_threads, n_rows * tasks_per_row, [&](std::size_t task, int) {
        const std::size_t i = task / tasks_per_row, first = task % tasks_per_row * columns_per_task;
        const double* row = rows + i * n_features;
        for (std::size_t j = first; j < std::min(first + columns_per_task, n_columns); ++j) {
            const double* column = columns + j * n_features;
            out[i * n_columns + j] = rows_first ? compare(row, column, n_features) : compare(column, row, n_features);
        }
    });
}

}  // namespace obp
