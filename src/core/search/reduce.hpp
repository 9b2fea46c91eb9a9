// Rows of a block reduced to the entries that are below a threshold for their column: all that a swap search looks at,
// as long as no point is farther than that from its second nearest medoid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block.hpp"

namespace obp {

// counts  OUT  n_rows: how many entries of each row are below the thresholds
void count_below(const BlockView& rows, const float* thresholds, std::int64_t* counts, int n_threads);

// starts           IN   n_rows + 1: where each row begins in what follows
// columns, values  OUT  the entries below the thresholds, of each row in the order of its columns
template <class Column>
void reduce_rows(const BlockView& rows, const float* thresholds, const std::int64_t* starts, Column* columns,
                 float* values, int n_threads);

// out  OUT  n_rows x n_columns, a new row every out_stride entries: infinity where nothing was kept
template <class Column>
void expand_rows(std::size_t n_rows, std::size_t n_columns, const std::int64_t* starts, const Column* columns,
                 const float* values, float* out, std::size_t out_stride, int n_threads);

}  // namespace obp
