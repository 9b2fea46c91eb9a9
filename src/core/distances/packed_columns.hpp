// Dissimilarities of many rows to a fixed set of columns. The columns are packed once into panels, the rows tile
// by tile; a tile is filled by the kernels of the SIMD level in use.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "block.hpp"
#include "distances/comparison.hpp"
#include "distances/packing.hpp"
#include "kernels/table.hpp"

namespace obp {

class PackedColumns {
public:
    // points  IN  n_columns x n_features of type `input_type`, row after row
    // byte_divisor  if not zero, all values of points and rows are byte / byte_divisor
    PackedColumns(Metric metric, InputType input_type, const void* points, std::size_t n_columns,
                  std::size_t n_features, double byte_divisor = 0);

    // rows  IN   n_rows x n_features of the columns' type
    // out   OUT  n_rows x n_columns, a new row every out_stride entries
    template <class Out>
    void fill(const void* rows, std::size_t n_rows, Out* out, std::size_t out_stride, int n_threads) const;
    void fill(const void* rows, std::size_t n_rows, float* out, std::size_t out_stride, Viewer& viewer) const;

    InputType input_type() const { return packing_.input_type(); }
    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_features() const { return packing_.n_features(); }

private:
    template <class Out, class See>
    void fill_tiles(const void* rows, std::size_t n_rows, std::size_t per_tile, Out* out, std::size_t out_stride,
                    int n_threads, const See& see) const;
    std::size_t rows_per_tile() const;

    Packing packing_;
    std::size_t n_columns_;
    Finish finish_;
    double scale_;
    std::unique_ptr<const Comparison> comparison_;
    std::vector<unsigned char> panels_;
};

}  // namespace obp
