// SIMD levels: one source, kernels.cpp, is compiled once per level, and one table of its functions is picked when
// the library is loaded. Every level computes the same bits: each sum is taken in one fixed order, and vectors
// only do several such sums side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace obp {

// What is done to an accumulated sum or maximum before it is stored.
enum class Finish { none, square_root };

// The units in which not all rows of a group are zero, with their values: nothing else adds to a dot product. Scratch
// of the kernel, for each group of rows after the other.
struct LiveUnits {
    std::uint32_t* units;  // groups x n_units
    void* values;          // n_rows x n_units
    std::uint32_t* ends;   // groups x n_units: where each run of units that are summed together ends
};

// What it takes to make squared distances of dot products.
struct Products {
    const void *row_squares, *column_squares;  // IN  squared lengths, those of the rows with the bases; of type unit
    // For floats, whose dot products are of centred rows and columns:
    const float *rows, *columns;  // IN  as they are, not centred; row after row
    const float* bases;           // IN  n_rows: what is to be added to squared differences
    LiveUnits live;
};

// A tile of dissimilarities between packed rows and packed columns. Both are made of units: one float, one
// double, or some bytes of a row.
struct Tile {
    std::size_t n_rows, n_columns, n_units;
    const void* rows;    // IN  n_rows x n_units
    const void* bases;   // IN  n_rows: where the sum or maximum of each row starts
    const void* panels;  // IN  panels x n_units x panel_width; the last panel is padded
    Finish finish;
    double scale;       // by which what is finished is multiplied
    Products products;  // for the dot product only
};
template <class Out>
using TileKernel = void (*)(const Tile& tile, Out* out, std::size_t out_stride);

struct MetricKernels {
    std::size_t panel_width;  // columns that are held in registers together
    TileKernel<float> to_float;
    TileKernel<double> to_double;
};

// A tile of Gower dissimilarities: the weighted mean of min(|a - b|, 1) over the features in which neither is NaN, and
// 1 if there is none.
struct GowerTile {
    std::size_t n_rows, n_columns, n_features;
    const float* rows;     // IN  n_rows x n_features
    const float* panels;   // IN  panels x n_features x panel_width; the last panel is padded
    const float* weights;  // IN  n_features
};

struct GowerKernel {
    std::size_t panel_width;
    void (*fill)(const GowerTile& tile, float* out, std::size_t out_stride);
};

// What the evaluation of one candidate reads of the search state over m batch points and k medoids.
struct SwapView {
    std::size_t m, k;
    const float* nearest_distance;  // m
    const float* second_distance;   // m
    const std::int32_t* nearest;    // m: slot of the nearest medoid
    const double* weights;          // m
    const double* removal_gains;    // k: what dropping a medoid gains, never positive; minus infinity if it is fixed
};

struct Swap {
    double gain;
    std::int32_t slot;
};

struct RowScan {
    std::int32_t argmin;  // the first smallest entry
    float min, max;
    bool valid;  // every entry is finite and not negative
};

struct Kernels {
    const char* name;
    MetricKernels manhattan_f32, manhattan_f64, manhattan_u8;
    MetricKernels sqeuclidean_f32, sqeuclidean_f64;
    MetricKernels chebyshev_f32, chebyshev_f64;
    MetricKernels sqeuclidean_by_products_f32, sqeuclidean_by_products_u8;
    GowerKernel gower;
    float (*dot_product)(const float* a, const float* b, std::size_t n_units);
    // The best removal for the candidate whose distances to the batch are `row`; `gains` (k) is scratch.
    Swap (*evaluate_swap)(const SwapView& state, const float* row, double* gains);
    double (*weighted_sum)(const float* row, const double* weights, std::size_t m);
    // The same of entries that count no more than the cap of their column.
    double (*capped_sum)(const float* row, const float* caps, const double* weights, std::size_t m);
    RowScan (*scan_row)(const float* row, std::size_t m);
    // A bit for each of 64 entries that is below its threshold.
    std::uint64_t (*below)(const float* entries, const float* thresholds);
};

// The levels this machine can run, the best last.
const std::vector<const Kernels*>& available_kernels();
// The table in use: the best available one unless another has been forced.
const Kernels& kernels();
// For tests. Returns false when there is no such level here.
bool force_kernels(const char* name);

}  // namespace obp
