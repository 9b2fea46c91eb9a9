#include "rounding.hpp"

#include "distances/gower.hpp"

#include <algorithm>

#include "distances/packing.hpp"
#include "parallel.hpp"

namespace obp {

constexpr std::size_t rows_per_tile = 64;  // The size of a tile changes no result.
// The number of comparisons of features below which one thread is used, because starting another takes as long.
constexpr std::size_t min_work_for_threads = 1'000'000;

GowerColumns::GowerColumns(const float* points, std::size_t n_columns, std::size_t n_features, const float* weights)
    : kernel_(&kernels().gower),
      n_columns_(n_columns),
      weights_(weights, weights + n_features),
      panels_(to_panels(points, n_columns, n_features, sizeof(float), kernel_->panel_width)) {}

void GowerColumns::fill(const float* rows, std::size_t n_rows, float* out, std::size_t out_stride,
                        int n_threads) const {
    if (n_rows * n_columns_ * n_features() < min_work_for_threads) n_threads = 1;
    parallel_for(n_threads, tiles_of(n_rows, rows_per_tile), [&](std::size_t index, int) {
        const std::size_t first = index * rows_per_tile, count = std::min(rows_per_tile, n_rows - first);
        const GowerTile tile{count,
                             n_columns_,
                             n_features(),
                             rows + first * n_features(),
                             reinterpret_cast<const float*>(panels_.data()),
                             weights_.data()};
        kernel_->fill(tile, out + first * out_stride, out_stride);
    });
}

}  // namespace obp
