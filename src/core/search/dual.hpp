// The Lagrangian dual of the k-medoids problem, evaluated on reduced rows (search/reduce.hpp).
//
// Point j has a multiplier: the price that it would pay to be served. A candidate collects, from each point that is
// nearer than its multiplier, the weighted difference; the negative of this sum is the reduced cost of the candidate:
//
// cost(i) = sum_j w_j min(0, d_ij - multiplier_j)
//
// Entries at or above the multiplier of their column add nothing, so reduced rows suffice as long as no multiplier is
// above the threshold to which its column was reduced.
#pragma once

#include <cstddef>
#include <cstdint>

namespace obp {

// Tells whether all columns of reduced rows are below n_columns.
template <class Column>
bool are_columns_below(const Column* columns, std::size_t n_entries, std::size_t n_columns);

// Computes the reduced costs of candidates. Each sum is taken in one fixed order, whatever the number of threads.
//
// starts, columns, values  IN   n_rows reduced rows
// multipliers, weights     IN   n_columns
// costs                    OUT  n_rows
template <class Column>
void reduced_costs(std::size_t n_rows, const std::int64_t* starts, const Column* columns, const float* values,
                   const float* multipliers, const double* weights, double* costs, int n_threads);

// Counts for each column the chosen rows whose entry is below the multiplier of the column.
//
// rows    IN   n_chosen: indices of reduced rows
// counts  OUT  n_columns
template <class Column>
void count_serving(const std::int64_t* rows, std::size_t n_chosen, const std::int64_t* starts, const Column* columns,
                   const float* values, const float* multipliers, std::size_t n_columns, std::int32_t* counts);

}  // namespace obp
