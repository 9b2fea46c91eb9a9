// Reduced rows: rows of a block of which only the entries below the threshold of their column are kept, in CSR format.
//
// A swap search needs no other entries, as long as no batch point is farther from its second nearest medoid than the
// threshold of its column.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block.hpp"

namespace obp {

// Counts the entries of each row that are below the thresholds.
//
// thresholds  IN   n_columns
// counts      OUT  n_rows
void count_below(const BlockView& rows, const float* thresholds, std::int64_t* counts, int n_threads);

// Reduces rows. Returns false, and leaves entries out, if a row has not as many of them as starts says.
//
// thresholds       IN   n_columns
// starts           IN   n_rows + 1: where each reduced row begins, and the end of the last one; they ascend
// columns, values  OUT  the entries below the thresholds, row after row, in the order of the columns
template <class Column>
bool reduce_rows(const BlockView& rows, const float* thresholds, const std::int64_t* starts, Column* columns,
                 float* values, int n_threads);

// Writes reduced rows as rows of a block. Returns false, and leaves entries out, if columns holds an index that is not
// below n_columns.
//
// starts, columns, values  IN   as above
// out                      OUT  n_rows x n_columns, the rows out_stride entries apart; infinity where no entry was kept
template <class Column>
bool expand_rows(std::size_t n_rows, std::size_t n_columns, const std::int64_t* starts, const Column* columns,
                 const float* values, float* out, std::size_t out_stride, int n_threads);

}  // namespace obp
