// A single column of a block: the dissimilarities of all rows to one point, as the methods need that draw one medoid
// after the other. A panel of packed columns would be empty but for one of its columns, so here the values of a row
// are the lanes of the vectors.
//
// In:   rows and a point, both float32, float64 or uint8, as they are.
// Out:  a dissimilarity for each row.
//
// The lanes are added up apart, and joined in a fixed order; the code is compiled once, not for each SIMD level,
// because reading the rows from memory takes longer than comparing them. So the result has the same bits for any number
// of threads and on every machine.
#pragma once

#include <cstddef>

#include "distances/packing.hpp"

namespace obp {

// rows   IN   n_rows x n_features
// point  IN   n_features
// out    OUT  n_rows, each `out_stride` entries after the one before
//
// The cosine distance of a row of zeros is 1 to any other row, and 0 to a row of zeros.
template <class T, class Out>
void fill_column(Metric metric, const T* rows, std::size_t n_rows, std::size_t n_features, const T* point, Out* out,
                 std::size_t out_stride, int n_threads);

}  // namespace obp
