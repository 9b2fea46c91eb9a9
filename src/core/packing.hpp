// How a row of the input becomes the units that the kernels compare.
#pragma once

#include <cstddef>

namespace obp {

enum class Metric { manhattan, euclidean, sqeuclidean, chebyshev, cosine };
enum class Source { float32, float64, uint8 };

class Packing {
public:
    Packing(Metric metric, Source source, std::size_t n_features);

    // rows   IN   n_rows x n_features of the source type
    // units  OUT  n_rows x n_units
    void pack(const void* rows, std::size_t n_rows, void* units) const;

    std::size_t n_features, n_units, unit_bytes, row_bytes;
    Source source;

private:
    using PackRow = void (*)(const void* row, std::size_t n_features, void* units, std::size_t n_units);
    PackRow pack_row_;
};

}  // namespace obp
