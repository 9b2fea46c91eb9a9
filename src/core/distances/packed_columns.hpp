// distances/ computes the dissimilarities of many rows to a fixed set of points, which are the columns of a block.
//
// In:   the points, once; then rows, in any number of calls.
// Out:  a part of the block, n_rows x n_columns. A Viewer (block.hpp) can look at each row right after it is computed.
//
// PackedColumns  (this file)   dense rows; packing.hpp makes units of rows, comparison.hpp chooses how to compare them
// GowerColumns   (gower.hpp)   rows of mixed tables, with missing values
// SparseColumns  (sparse.hpp)  sparse rows
// CustomMetric   (custom.hpp)  dense rows, by a function that the user compiled
// fill_column    (column.hpp)  dense rows to one point, which is not packed
//
// PackedColumns packs the points once, into panels. It packs rows tile by tile, and has each tile filled by the
// kernels.
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
    // points        IN  n_columns x n_features of type `input_type`
    // byte_divisor      if not zero, all values of points and rows are byte / byte_divisor
    PackedColumns(Metric metric, InputType input_type, const void* points, std::size_t n_columns,
                  std::size_t n_features, double byte_divisor = 0);

    // rows    IN   n_rows x n_features of type `input_type`
    // out     OUT  n_rows x n_columns, the rows out_stride entries apart
    // viewer       sees all rows, each in the thread that has computed it
    template <class Out>
    void fill(const void* rows, std::size_t n_rows, Out* out, std::size_t out_stride, int n_threads) const;
    void fill(const void* rows, std::size_t n_rows, float* out, std::size_t out_stride, Viewer& viewer) const;

    InputType input_type() const { return packing_.input_type(); }
    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_features() const { return packing_.n_features(); }

private:
    struct Scratch;
    void reserve(Scratch& scratch, std::size_t n_rows) const;
    Tile make_tile(const void* rows, std::size_t n_rows, Scratch& scratch) const;
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
