// Dissimilarities of many rows to a fixed set of columns. The columns are packed once into panels, the rows tile
// by tile; a tile is filled by the kernels of the SIMD level in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "block.hpp"
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
    // Buffers of one thread, for one tile of rows.
    struct Scratch {
        std::vector<unsigned char> units, bases;
        std::vector<float> centred, row_squares;
        std::vector<std::uint32_t> pair_squares;
        std::vector<std::uint32_t> live_units, live_ends;
        std::vector<unsigned char> live_values;
    };

    enum class Way { differences, float_products, pair_products };

    Way choose_way(Metric metric) const;
    void centre_columns(std::vector<unsigned char>& units);
    template <class Out, class See>
    void fill_tiles(const void* rows, std::size_t n_rows, std::size_t per_tile, Out* out, std::size_t out_stride,
                    int n_threads, const See& see) const;
    std::size_t rows_per_tile() const;
    void prepare_products(Tile& tile, Scratch& scratch) const;

    Packing packing_;
    std::size_t n_columns_;
    const Kernels* level_;
    const MetricKernels* kernels_;
    Finish finish_;
    double scale_;
    std::vector<unsigned char> panels_;

    // Squared Euclidean distances go by dot products: those of bytes exactly, those of long float rows after a centre
    // has been subtracted.
    Way way_;
    std::vector<float> columns_;               // n_columns x n_units, not centred
    std::vector<float> centre_;                // n_units
    std::vector<float> column_squares_;        // n_columns
    std::vector<std::uint32_t> pair_squares_;  // n_columns
};

}  // namespace obp
