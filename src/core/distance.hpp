// Dissimilarities of many rows to a fixed set of columns. The columns are packed once into panels, the rows tile
// by tile; a tile is filled by the kernels of the SIMD level in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd.hpp"

namespace obp {

enum class Metric { manhattan, euclidean, sqeuclidean, chebyshev, cosine };
enum class Source { float32, float64, uint8 };

class PackedColumns {
public:
    // points  IN  n_columns x n_features of type `source`, row after row
    PackedColumns(Metric metric, Source source, const void* points, std::size_t n_columns, std::size_t n_features);

    // rows  IN   n_rows x n_features of the columns' type
    // out   OUT  n_rows x n_columns
    template <class Out>
    void fill(const void* rows, std::size_t n_rows, Out* out, int n_threads) const;

    Source source() const { return source_; }
    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_features() const { return n_features_; }

private:
    using PackRow = void (*)(const void* row, std::size_t n_features, void* units, std::size_t n_units);

    Source source_;
    std::size_t n_columns_, n_features_, n_units_, unit_bytes_;
    const MetricKernels* kernels_;
    PackRow pack_row_;
    Finish finish_;
    std::vector<unsigned char> panels_;
};

struct BlockScan {
    float max;
    bool valid;  // every entry is finite and not negative
};

// block    IN   n_rows x n_columns
// nearest  OUT  n_rows: for each row the column of its smallest entry, the first of equal ones
BlockScan scan_rows(const float* block, std::size_t n_rows, std::size_t n_columns, std::int32_t* nearest,
                    int n_threads);

// sums  OUT  n_rows: the weighted sum of each row of the block
void weighted_row_sums(const float* block, std::size_t n_rows, std::size_t n_columns, const double* weights,
                       double* sums, int n_threads);

}  // namespace obp
