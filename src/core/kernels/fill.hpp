// The loops that fill a tile of dissimilarities. Only kernels.cpp includes this file, once for each SIMD level.
#pragma once

#include "kernels/metrics.hpp"
#include "kernels/table.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

// Whether sums of type T are exact: T is an integer type.
template <class T>
constexpr bool is_exact = T(0.5) == T(0);

// The number of units that are summed before their sum is added to the total. Sums of floats are short, because the
// rounding error of a sum grows with its length.
template <class T>
constexpr std::size_t units_per_sum = is_exact<T> ? SIZE_MAX : 128;

template <class T>
constexpr std::size_t panel_width = vectors_per_panel * lanes<T>;

// Sums step(a, b) over the units of two rows. The number of partial sums is the same at every level, because the bits
// of the result depend on it.
template <class Step>
inline float sum_over_units(const float* a, const float* b, std::size_t n, const Step& step) {
    constexpr std::size_t n_sums = 16;
    float sums[n_sums] = {};
    std::size_t i = 0;
    for (; i + n_sums <= n; i += n_sums)
        for (std::size_t s = 0; s < n_sums; ++s) sums[s] += step(a[i + s], b[i + s]);
    for (std::size_t s = 0; i + s < n; ++s) sums[s] += step(a[i + s], b[i + s]);
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
}

float dot_product(const float* a, const float* b, std::size_t n) {
    return sum_over_units(a, b, n, [](float x, float y) { return x * y; });
}

float squared_distance(const float* a, const float* b, std::size_t n) {
    return sum_over_units(a, b, n, [](float x, float y) { return (x - y) * (x - y); });
}

// Turns the dot products of a row into squared distances: |a - b|^2 = |a|^2 + |b|^2 - 2 ab.
//
// A dot product takes one operation per unit where differences take three, but digits cancel if row and column are
// close. A squared distance below a fraction of |a|^2 + |b|^2 is therefore computed again, from differences. The
// fraction keeps the relative error below 1e-4; the largest that was seen is 3.9e-5.
//
// values  IN/OUT  dot products of the row with n_columns columns; OUT: squared distances
template <std::size_t width>
inline void squares_from_products(const Tile& tile, std::size_t row, std::size_t first_column, std::size_t n_columns,
                                  float (&values)[width]) {
    constexpr float too_close = 1.0f / 64;
    const Products& products = tile.products;
    const float row_square = static_cast<const float*>(products.row_squares)[row];
    float lengths[width] = {};
    __builtin_memcpy(lengths, static_cast<const float*>(products.column_squares) + first_column,
                     n_columns * sizeof(float));
    int n_close = 0;
    for (std::size_t c = 0; c < width; ++c) {
        lengths[c] += row_square;
        values[c] = lengths[c] - 2 * values[c];
        n_close += !(values[c] >= too_close * lengths[c]);  // The negation also counts NaN, if the lengths overflow.
    }
    if (n_close == 0) return;
    const float* a = products.rows + row * tile.n_units;
    for (std::size_t c = 0; c < n_columns; ++c)
        if (!(values[c] >= too_close * lengths[c]))
            values[c] = products.bases[row] +
                        squared_distance(a, products.columns + (first_column + c) * tile.n_units, tile.n_units);
}

// The same for integers, which need no second computation: the result is exact even if a term wraps around.
template <std::size_t width>
inline void squares_from_products(const Tile& tile, std::size_t row, std::size_t first_column, std::size_t n_columns,
                                  std::uint32_t (&values)[width]) {
    const auto* column_squares = static_cast<const std::uint32_t*>(tile.products.column_squares) + first_column;
    const std::uint32_t row_square = static_cast<const std::uint32_t*>(tile.products.row_squares)[row];
    for (std::size_t c = 0; c < n_columns; ++c) values[c] = row_square + column_squares[c] - 2 * values[c];
}

// The type in which a total is finished: its own if that is float or double, and the type of the output for integers.
template <class T, class Out>
struct FinishedType {
    typedef Out type;
};
template <class Out>
struct FinishedType<float, Out> {
    typedef float type;
};
template <class Out>
struct FinishedType<double, Out> {
    typedef double type;
};

template <class Out, class T>
__attribute__((always_inline)) inline auto finished(const Tile& tile, Vector<T> total) {
    using Finished = typename FinishedType<T, Out>::type;
    constexpr std::size_t n = lanes<T>;
    Array<Finished, n> result;
    if constexpr (sizeof(T) == 8 && is_exact<T>)  // Not every level converts vectors of 64-bit integers to floats.
        result = __builtin_convertvector(__builtin_convertvector(total, Array<std::int32_t, n>), Array<Finished, n>);
    else
        result = __builtin_convertvector(total, Array<Finished, n>);
    if (tile.finish == Finish::square_root)
        for (std::size_t lane = 0; lane < n; ++lane) result[lane] = square_root(result[lane]);
    result *= static_cast<Finished>(tile.scale);
    return __builtin_convertvector(result, Array<Out, n>);
}

template <class T>
inline std::size_t end_of_sum(std::size_t start, std::size_t n_units) {
    const std::size_t rest = n_units - start;
    return start + (rest < units_per_sum<T> ? rest : units_per_sum<T>);
}

// The part of LiveUnits that belongs to one group of rows.
template <class T>
struct LiveGroup {
    std::uint32_t* units;
    T* values;  // live units x rows of the group
    std::uint32_t* ends;
};

template <class T>
inline LiveGroup<T> live_group(const Tile& tile, std::size_t group, std::size_t first_row) {
    const LiveUnits& live = tile.products.live;
    return {live.units + group * tile.n_units, static_cast<T*>(live.values) + first_row * tile.n_units,
            live.ends + group * tile.n_units};
}

// Gathers the live units of a group of rows. Every unit is written, but a unit of zeros is overwritten by the next one,
// because that is quicker than a branch.
template <class T, int n_rows>
inline void gather_live(const Tile& tile, std::size_t first_row, const LiveGroup<T>& live) {
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    std::uint32_t count = 0, *end = live.ends;
    for (std::size_t start = 0, stop = 0; start < tile.n_units; start = stop) {
        stop = end_of_sum<T>(start, tile.n_units);
        for (std::size_t unit = start; unit < stop; ++unit) {
            bool is_live = false;
            for (int row = 0; row < n_rows; ++row) {
                const T value = rows[row * tile.n_units + unit];
                live.values[count * n_rows + row] = value;
                is_live |= value != 0;
            }
            live.units[count] = static_cast<std::uint32_t>(unit);
            count += is_live;
        }
        *end++ = count;
    }
}

// Finishes the totals of one row and stores them, without those of the padding of the last panel.
template <class Metric, class Out, class T = typename Metric::Unit>
__attribute__((always_inline)) inline void store_row(const Tile& tile, std::size_t row, std::size_t first_column,
                                                     Vector<T> (&totals)[vectors_per_panel], Out* out) {
    constexpr std::size_t width = panel_width<T>;
    const std::size_t rest = tile.n_columns - first_column, n_columns = rest < width ? rest : width;
    if constexpr (Metric::is_product) {
        T values[width];
        __builtin_memcpy(values, totals, sizeof values);
        squares_from_products(tile, row, first_column, n_columns, values);
        __builtin_memcpy(totals, values, sizeof values);
    }
    Out padded[width];
    Out* to = n_columns == width ? out : padded;
    for (int v = 0; v < vectors_per_panel; ++v) {
        const auto values = finished<Out, T>(tile, totals[v]);
        __builtin_memcpy(to + v * lanes<T>, &values, sizeof values);
    }
    if (to == padded)
        for (std::size_t c = 0; c < n_columns; ++c) out[c] = padded[c];
}

template <class T, int n_rows>
using Sums = Vector<T>[n_rows][vectors_per_panel];

// Adds the units begin, ..., end - 1 to the sums. For a dot product these are positions among the live units.
template <class Metric, int n_rows, class T = typename Metric::Unit>
__attribute__((always_inline)) inline void add_units(const T* rows, std::size_t n_units, const LiveGroup<T>& live,
                                                     const T* panel, std::size_t begin, std::size_t end,
                                                     Sums<T, n_rows>& sums) {
#pragma GCC unroll 2
    for (std::size_t i = begin; i < end; ++i) {
        const T* units = panel + (Metric::is_product ? live.units[i] : i) * panel_width<T>;
        Vector<T> b[vectors_per_panel];
        for (int v = 0; v < vectors_per_panel; ++v) b[v] = load(units + v * lanes<T>);
        unrolled<n_rows>([&](auto row) {
            const Vector<T> a = broadcast(Metric::is_product ? live.values[i * n_rows + row] : rows[row * n_units + i]);
            for (int v = 0; v < vectors_per_panel; ++v)
                sums[row][v] = Metric::template step<row>(sums[row][v], a, b[v]);
        });
    }
}

// Compares one group of rows with one panel of columns. All accumulators stay in registers.
template <class Metric, class Out, int n_rows>
inline void fill_group(const Tile& tile, std::size_t group, std::size_t first_row, std::size_t first_column,
                       const typename Metric::Unit* panel, Out* out, std::size_t out_stride) {
    using T = typename Metric::Unit;
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    const T* bases = static_cast<const T*>(tile.bases) + first_row;
    const LiveGroup<T> live = Metric::is_product ? live_group<T>(tile, group, first_row) : LiveGroup<T>{};
    Sums<T, n_rows> totals;
    for (int row = 0; row < n_rows; ++row)
        for (int v = 0; v < vectors_per_panel; ++v) totals[row][v] = broadcast(bases[row]);
    for (std::size_t run = 0, begin = 0, end = 0, start = 0; start < tile.n_units; ++run, begin = end) {
        start = end_of_sum<T>(start, tile.n_units);
        end = Metric::is_product ? live.ends[run] : start;
        if constexpr (is_exact<T>)
            add_units<Metric, n_rows>(rows, tile.n_units, live, panel, begin, end, totals);
        else {
            Sums<T, n_rows> sums = {};
            add_units<Metric, n_rows>(rows, tile.n_units, live, panel, begin, end, sums);
            for (int row = 0; row < n_rows; ++row)
                for (int v = 0; v < vectors_per_panel; ++v) {
                    Vector<T>& total = totals[row][v];
                    total = Metric::takes_maximum ? maximum(total, sums[row][v]) : total + sums[row][v];
                }
        }
    }
    unrolled<n_rows>([&](auto row) {
        store_row<Metric>(tile, first_row + static_cast<std::size_t>(row), first_column, totals[row],
                          out + (first_row + static_cast<std::size_t>(row)) * out_stride + first_column);
    });
}

template <class Metric, class Out>
void fill_tile(const Tile& tile, Out* out, std::size_t out_stride) {
    using T = typename Metric::Unit;
    constexpr std::size_t width = panel_width<T>;
    constexpr int rows_per_group = Metric::rows_per_group;
    const std::size_t n_groups = tile.n_rows / rows_per_group, n_grouped = n_groups * rows_per_group;
    if constexpr (Metric::is_product) {
        for (std::size_t group = 0, row = 0; group < n_groups; ++group, row += rows_per_group)
            gather_live<T, rows_per_group>(tile, row, live_group<T>(tile, group, row));
        for (std::size_t row = n_grouped; row < tile.n_rows; ++row)
            gather_live<T, 1>(tile, row, live_group<T>(tile, n_groups + row - n_grouped, row));
    }
    const T* panel = static_cast<const T*>(tile.panels);
    for (std::size_t column = 0; column < tile.n_columns; column += width, panel += width * tile.n_units) {
        for (std::size_t group = 0, row = 0; group < n_groups; ++group, row += rows_per_group)
            fill_group<Metric, Out, rows_per_group>(tile, group, row, column, panel, out, out_stride);
        for (std::size_t row = n_grouped; row < tile.n_rows; ++row)
            fill_group<Metric, Out, 1>(tile, n_groups + row - n_grouped, row, column, panel, out, out_stride);
    }
}

template <class Metric>
constexpr MetricKernels metric_kernels() {
    return {panel_width<typename Metric::Unit>, fill_tile<Metric, float>, fill_tile<Metric, double>};
}

// Returns x in the lanes that the mask selects, and 0 in the others.
inline Floats where(Vector<std::int32_t> mask, Floats x) { return (Floats)((Vector<std::int32_t>)x & mask); }

// As fill_group, with a second sum: the weights of the features that both row and column have.
template <int n_rows>
inline void fill_gower_group(const GowerTile& tile, std::size_t first_row, std::size_t first_column, const float* panel,
                             float* out, std::size_t out_stride) {
    constexpr std::size_t width = panel_width<float>;
    const Floats one = broadcast(1.0f);
    const float* rows = tile.rows + first_row * tile.n_features;
    Floats sums[n_rows][vectors_per_panel] = {}, weights[n_rows][vectors_per_panel] = {};
    for (std::size_t start = 0, stop = 0; start < tile.n_features; start = stop) {
        stop = end_of_sum<float>(start, tile.n_features);
        Floats part_sums[n_rows][vectors_per_panel] = {}, part_weights[n_rows][vectors_per_panel] = {};
        for (std::size_t feature = start; feature < stop; ++feature) {
            const Floats weight = broadcast(tile.weights[feature]);
            unrolled<n_rows>([&](auto row) {
                const Floats a = broadcast(rows[row * tile.n_features + feature]);
                for (int v = 0; v < vectors_per_panel; ++v) {
                    const Floats b = load(panel + feature * width + v * lanes<float>), d = absolute(a - b);
                    const auto is_known = d == d;
                    part_sums[row][v] += where(is_known, (d < one ? d : one) * weight);
                    part_weights[row][v] += where(is_known, weight);
                }
            });
        }
        for (int row = 0; row < n_rows; ++row)
            for (int v = 0; v < vectors_per_panel; ++v) {
                sums[row][v] += part_sums[row][v];
                weights[row][v] += part_weights[row][v];
            }
    }
    const std::size_t rest = tile.n_columns - first_column, n_columns = rest < width ? rest : width;
    for (int row = 0; row < n_rows; ++row) {
        Floats means[vectors_per_panel];
        for (int v = 0; v < vectors_per_panel; ++v)
            means[v] = weights[row][v] > 0.0f ? sums[row][v] / weights[row][v] : one;
        __builtin_memcpy(out + (first_row + static_cast<std::size_t>(row)) * out_stride + first_column, means,
                         n_columns * sizeof(float));
    }
}

void fill_gower(const GowerTile& tile, float* out, std::size_t out_stride) {
    constexpr std::size_t width = panel_width<float>;
    constexpr int group = 2;
    const float* panel = tile.panels;
    for (std::size_t column = 0; column < tile.n_columns; column += width, panel += width * tile.n_features) {
        std::size_t row = 0;
        for (; row + group <= tile.n_rows; row += group)
            fill_gower_group<group>(tile, row, column, panel, out, out_stride);
        for (; row < tile.n_rows; ++row) fill_gower_group<1>(tile, row, column, panel, out, out_stride);
    }
}

}  // namespace
}  // namespace OBP_LEVEL
}  // namespace obp
