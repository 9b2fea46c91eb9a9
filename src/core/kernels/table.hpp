// kernels/ holds the loops in which the core spends its time. They are compiled once for each SIMD level and are called
// through a table of functions; this header is all that the rest of the core sees of them.
//
// In:   pointers to packed rows and panels (Tile, GowerTile), to rows of a block, to the state of a search (SwapView,
//       BuildView).
// Out:  entries of a block, or a small result: Swap, Moments, RowScan, a sum, a mask.
//
// dispatch.cpp chooses the table for this machine. kernels.cpp is the source that is compiled for each level; its loops
// stand in prepare.hpp, fill.hpp, gower.hpp and rows.hpp, the metrics in metrics.hpp, the vector types in vectors.hpp.
//
// Every level computes the same bits, because each sum is taken in one fixed order: vectors only take several such sums
// side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace obp {

// The function that is applied to a sum or maximum before it is scaled and stored.
enum class Finish { none, square_root };

// The number of columns whose totals are kept between two runs of units, rounded down to whole panels.
constexpr std::size_t columns_per_block = 512;

// Scratch memory of the dot product kernels. A unit is live in a group of rows if at least one of them is not zero
// there. The kernels skip the other units, because zeros add nothing to a dot product. Without this memory, no unit is
// skipped.
struct LiveUnits {
    std::uint32_t* units = nullptr;  // n_groups x n_units: positions of the live units
    std::uint32_t* ends = nullptr;   // n_groups x n_units: where each run of live units that are summed together ends
};

// The input of the dot product kernels beyond packed rows and columns: with it they compute squared distances.
struct Products {
    // IN  n_rows; n_columns, padded as the panels: squared lengths, of the type of the units; those of the rows include
    //     the bases
    const void *row_squares, *column_squares;
    // IN  rows and columns before they were centred, row after row; for float units only
    const float *rows, *columns;
    const float* bases;  // IN  n_rows: added to a squared distance that is computed from differences
    void* interleaved;   // scratch memory: n_rows x n_units
    LiveUnits live;
};

// A tile of dissimilarities between packed rows and packed columns. Both consist of units: a float, a double, eight
// bytes or a pair of 16-bit integers.
struct Tile {
    std::size_t n_rows, n_columns, n_units;
    const void* rows;    // IN  n_rows x n_units
    const void* bases;   // IN  n_rows: the value at which the sum or maximum of a row starts; not for dot products
    const void* panels;  // IN  panels x n_units x panel_width; the last panel is padded
    void* totals;        // scratch memory: n_rows x columns_per_block units
    Finish finish;
    double scale;       // the factor by which the finished value is multiplied
    Products products;  // set for the dot product kernels only
};
template <class Out>
using TileKernel = void (*)(const Tile& tile, Out* out, std::size_t out_stride);

struct MetricKernels {
    std::size_t panel_width;  // number of columns whose sums are held in registers together
    TileKernel<float> to_float;
    TileKernel<double> to_double;
};

// A tile of Gower dissimilarities: the weighted mean of min(|a - b|, 1) over the features in which neither value is
// NaN and not both are infinite. If there is no such feature, it is 0 if both are infinite in some feature, else 1.
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

// The part of a search's state, over m batch points and k medoids, that the evaluation of a candidate reads.
struct SwapView {
    std::size_t m, k;
    const float* nearest_distance;  // m
    const float* second_distance;   // m
    const std::int32_t* nearest;    // m: slot of the nearest medoid
    const double* weights;          // m
    const double* removal_gains;    // k: gain of removing a medoid, zero or negative; minus infinity if it is fixed
};

// The part of BUILD's state, over m reference points, that the evaluation of a candidate reads.
struct BuildView {
    std::size_t m;
    const float* nearest_distance;  // m; zero if there is no medoid yet
    const double* weights;          // m
    float least_gain;               // the least gain of a point: minus infinity for the first medoid, then zero
};

// The sum of the gains at all points, and the sum of their squares.
struct Moments {
    double sum, squares;
};

// The best swap of a candidate: it replaces the medoid in `slot` and lowers the loss by `gain`.
struct Swap {
    double gain;
    std::int32_t slot;
};

struct RowScan {
    std::int32_t argmin;  // column of the smallest entry, the first of equal ones; 0 if the row is not valid
    float min, max;
    bool valid;  // whether all entries are finite and not negative
};

struct Kernels {
    const char* name;
    MetricKernels manhattan_f32, manhattan_f64, manhattan_u8;
    MetricKernels sqeuclidean_f32, sqeuclidean_f64;
    MetricKernels chebyshev_f32, chebyshev_f64;
    MetricKernels sqeuclidean_by_products_f32, sqeuclidean_by_products_u8;
    GowerKernel gower;
    // Subtracts the centre from a row, and returns the squared length of the result.
    float (*centre_row)(const float* row, const float* centre, std::size_t n, float* centred);
    double (*sum_of_squares)(const float* row, std::size_t n);
    void (*scale_row)(const float* row, std::size_t n, double factor, float* scaled);
    // Widens the bits of n numbers in float16 to float32.
    void (*widen_halves)(const std::uint16_t* halves, std::size_t n, float* wide);
    // Finds the best swap of the candidate whose row of the block is given; `gains` is scratch memory for k numbers.
    Swap (*evaluate_swap)(const SwapView& state, const float* row, double* gains);
    // Sums up the gains of adding the candidate whose row of the block is given.
    Moments (*build_moments)(const BuildView& state, const float* row);
    // Adds the gains of the k swaps of a candidate, as far as they depend on the candidate, to k + 1 moments: those of
    // the gains that all swaps share, then of the changes to them in each slot. See kernels/rows.hpp.
    void (*add_swap_moments)(const SwapView& state, const float* row, Moments* moments);
    double (*weighted_sum)(const float* row, const double* weights, std::size_t m);
    // As weighted_sum, but an entry above the cap of its column counts as the cap.
    double (*capped_sum)(const float* row, const float* caps, const double* weights, std::size_t m);
    RowScan (*scan_row)(const float* row, std::size_t m);
    // Whether all entries are finite and not negative.
    bool (*is_valid_row)(const float* row, std::size_t m);
    // Returns one bit for each of 64 entries: 1 if the entry is below its threshold.
    std::uint64_t (*below)(const float* entries, const float* thresholds);
};

// Returns the levels that this machine can run, the best one last.
const std::vector<const Kernels*>& available_kernels();
// Returns the table in use: the best available one, unless another was forced.
const Kernels& kernels();
// Forces a level, for tests. Returns false if this machine cannot run it.
bool force_kernels(const char* name);

}  // namespace obp
