// The loops that fill a tile of dissimilarities. Only kernels.cpp includes this file, once for each SIMD level.
//
// A tile is filled in steps: one run of units, for one group of rows and one panel of columns. All sums of a step stay
// in registers. The loops around it, from outside: blocks of columns, runs, panels, groups. So the part of a panel that
// a step reads comes from the first- or second-level cache, whatever the length of the rows.
#pragma once

#include "kernels/metrics.hpp"
#include "kernels/prepare.hpp"
#include "kernels/table.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

// Whether sums of type T are exact: T is an integer type.
template <class T>
constexpr bool is_exact = T(0.5) == T(0);

// The number of units in a run. They are summed before their sum is added to the total. Sums of floats are short,
// because the rounding error of a sum grows with its length.
template <class T>
constexpr std::size_t units_per_run = is_exact<T> ? SIZE_MAX : 128;

template <class Metric>
constexpr std::size_t panel_width = Metric::vectors * lanes<typename Metric::Unit>;

// A run of units, and whether it is the first or the last of its rows.
struct Run {
    std::size_t index, begin, end;
    bool is_first, is_last;
};

template <class T>
inline Run run_of(std::size_t begin, std::size_t n_units) {
    const std::size_t rest = n_units - begin, length = rest < units_per_run<T> ? rest : units_per_run<T>;
    return {begin / units_per_run<T>, begin, begin + length, begin == 0, length == rest};
}

// Computes again, from differences, the squared distances of a row to the columns of a panel whose bits are set in
// `close`.
template <int vectors>
__attribute__((noinline)) void recompute_squares(const Tile& tile, std::size_t row, std::size_t first_column,
                                                 std::uint64_t close, Floats (&squares)[vectors]) {
    const Products& products = tile.products;
    const float* a = products.rows + row * tile.n_units;
    for (; close; close &= close - 1) {
        const auto c = static_cast<std::size_t>(__builtin_ctzll(close));
        if (first_column + c >= tile.n_columns) return;
        squares[c / lanes<float>][c % lanes<float>] =
            products.bases[row] +
            squared_distance(a, products.columns + (first_column + c) * tile.n_units, tile.n_units);
    }
}

// Turns the dot products of a row with the columns of a panel into squared distances: |a - b|^2 = |a|^2 + |b|^2 - 2 ab.
//
// A dot product takes one operation per unit where differences take three, but digits cancel if row and column are
// close. A squared distance below a fraction of |a|^2 + |b|^2 is therefore computed again, from differences. The
// fraction keeps the relative error below 1e-4; the largest that was seen is 3.9e-5.
//
// totals  IN/OUT  dot products of the row with the columns; OUT: squared distances
template <int vectors>
__attribute__((always_inline)) inline void squares_from_products(const Tile& tile, std::size_t row,
                                                                 std::size_t first_column, Floats (&totals)[vectors]) {
    constexpr float too_close = 1.0f / 64;
    const Products& products = tile.products;
    const float* column_squares = static_cast<const float*>(products.column_squares) + first_column;
    const Floats row_squares = broadcast(static_cast<const float*>(products.row_squares)[row]);
    std::uint64_t close = 0;
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
        const Floats lengths = load(column_squares + v * lanes<float>) + row_squares;
        totals[v] = lengths - 2.0f * totals[v];
        close |= not_at_least(totals[v], too_close * lengths) << v * lanes<float>;
    });
    if (close == 0) return;
    Floats squares[vectors];  // A copy, so that the totals can stay in registers.
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) { squares[v] = totals[v]; });
    recompute_squares(tile, row, first_column, close, squares);
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) { totals[v] = squares[v]; });
}

// The same for integers, which need no second computation: the result is exact even if a term wraps around.
template <int vectors>
__attribute__((always_inline)) inline void squares_from_products(const Tile& tile, std::size_t row,
                                                                 std::size_t first_column, Pairs (&totals)[vectors]) {
    const auto* column_squares = static_cast<const std::uint32_t*>(tile.products.column_squares) + first_column;
    const std::uint32_t row_square = static_cast<const std::uint32_t*>(tile.products.row_squares)[row];
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
        totals[v] = load(column_squares + v * lanes<std::uint32_t>) + row_square - 2 * totals[v];
    });
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

// Finishes the totals of one row and stores them, without those of the padding of the last panel.
template <class Metric, class Out, int vectors, class T = typename Metric::Unit>
__attribute__((always_inline)) inline void store_row(const Tile& tile, std::size_t row, std::size_t first_column,
                                                     Vector<T> (&totals)[vectors], Out* out) {
    constexpr std::size_t width = vectors * lanes<T>;
    if constexpr (Metric::is_product) squares_from_products(tile, row, first_column, totals);
    const std::size_t n_columns = tile.n_columns - first_column;
    Out padded[width];
    Out* to = n_columns >= width ? out : padded;
    unrolled<vectors>(
        [&](auto v) __attribute__((always_inline)) { store(finished<Out, T>(tile, totals[v]), to + v * lanes<T>); });
    if (to == padded)
        for (std::size_t c = 0; c < n_columns; ++c) out[c] = padded[c];
}

// The rows of a tile as a step reads them: row after row for differences. For dot products the units of a group are
// interleaved, unit after unit, because the compiler then needs one address for all rows.
template <class Metric, int n_rows>
struct Group {
    using T = typename Metric::Unit;
    std::size_t first_row, n_units;
    const T* values;
    const std::uint32_t* units;  // the positions of the live units; null if no unit is skipped
    const std::uint32_t* ends;   // where each run of live units ends

    Group(const Tile& tile, std::size_t group, std::size_t row)
        : first_row(row), n_units(tile.n_units), units(nullptr), ends(nullptr) {
        const void* rows = tile.rows;
        if constexpr (Metric::is_product) {
            rows = tile.products.interleaved;
            if (tile.products.live.units) {
                units = tile.products.live.units + group * n_units;
                ends = tile.products.live.ends + group * n_units;
            }
        }
        values = static_cast<const T*>(rows) + row * n_units;
    }

    Vector<T> unit(std::size_t i, int row) const {
        return broadcast(Metric::is_product ? values[i * n_rows + row] : values[row * n_units + i]);
    }
};

// Interleaves the units of a group of rows.
template <class T, int n_rows>
inline void interleave(const Tile& tile, std::size_t first_row) {
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    T* to = static_cast<T*>(tile.products.interleaved) + first_row * tile.n_units;
    for (std::size_t unit = 0; unit < tile.n_units; ++unit)
        for (int row = 0; row < n_rows; ++row) *to++ = rows[row * tile.n_units + unit];
}

// Interleaves the live units of a group of rows. Every unit is written, but a unit of zeros is overwritten by the next
// one, because that is quicker than a branch.
template <class T, int n_rows>
inline void interleave_live(const Tile& tile, std::size_t group, std::size_t first_row) {
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    T* to = static_cast<T*>(tile.products.interleaved) + first_row * tile.n_units;
    std::uint32_t* units = tile.products.live.units + group * tile.n_units;
    std::uint32_t* run_end = tile.products.live.ends + group * tile.n_units;
    std::uint32_t count = 0;
    for (Run run = run_of<T>(0, tile.n_units);; run = run_of<T>(run.end, tile.n_units)) {
        for (std::size_t unit = run.begin; unit < run.end; ++unit) {
            bool is_live = false;
            for (int row = 0; row < n_rows; ++row) {
                const T value = rows[row * tile.n_units + unit];
                to[count * n_rows + row] = value;
                is_live |= value != 0;
            }
            units[count] = static_cast<std::uint32_t>(unit);
            count += is_live;
        }
        *run_end++ = count;
        if (run.is_last) return;
    }
}

template <class Metric, int n_rows, int vectors>
using Sums = Vector<typename Metric::Unit>[n_rows][vectors];

// Adds the units begin, ..., end - 1 to the sums. With skips_units, these are positions among the live units.
template <class Metric, bool skips_units, int n_rows, int vectors, class T = typename Metric::Unit>
__attribute__((always_inline)) inline void add_units(const Group<Metric, n_rows>& group, const T* panel,
                                                     std::size_t begin, std::size_t end,
                                                     Sums<Metric, n_rows, vectors>& sums) {
#pragma GCC unroll 2
    for (std::size_t i = begin; i < end; ++i) {
        const T* units = panel + (skips_units ? group.units[i] : i) * panel_width<Metric>;
        Vector<T> b[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) { b[v] = load(units + v * lanes<T>); });
        unrolled<n_rows>([&](auto row) __attribute__((always_inline)) {
            const Vector<T> a = group.unit(i, row);
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                sums[row][v] = Metric::template step<row>(sums[row][v], a, b[v]);
            });
        });
    }
}

// Adds a run of units to the totals of a group of rows with the columns in the first vectors of a panel. The last run
// finishes and stores them.
//
// totals  IN/OUT  the totals of the runs before this one, and with it; not used if there is only one run
template <class Metric, class Out, bool skips_units, int vectors, int n_rows>
inline void fill_group(const Tile& tile, const Run& run, const Group<Metric, n_rows>& group, std::size_t first_column,
                       const typename Metric::Unit* panel, typename Metric::Unit* totals, Out* out,
                       std::size_t out_stride) {
    using T = typename Metric::Unit;
    std::size_t begin = run.begin, end = run.end;
    if constexpr (skips_units) {
        begin = run.is_first ? 0 : group.ends[run.index - 1];
        end = group.ends[run.index];
    }
    if (run.is_last)  // The lines of the output are on their way while the units are added.
        for (std::size_t row = 0; row < n_rows; ++row)
            for (std::size_t byte = 0; byte <= vectors * lanes<T> * sizeof(Out); byte += 64)
                __builtin_prefetch(
                    reinterpret_cast<const char*>(out + (group.first_row + row) * out_stride + first_column) + byte, 1);
    Sums<Metric, n_rows, vectors> sums;
    unrolled<n_rows>([&](auto row) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) { sums[row][v] = Vector<T>{}; });
    });
    add_units<Metric, skips_units>(group, panel, begin, end, sums);
    unrolled<n_rows>([&](auto r) __attribute__((always_inline)) {
        const auto row = static_cast<std::size_t>(r);
        T* of_row = totals + row * panel_width<Metric>;
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            Vector<T>& sum = sums[r][v];
            if (Metric::is_product && run.is_first) return;
            const Vector<T> before = run.is_first ? broadcast(static_cast<const T*>(tile.bases)[group.first_row + row])
                                                  : load(of_row + v * lanes<T>);
            if constexpr (Metric::takes_maximum)
                sum = maximum(before, sum);
            else
                sum = before + sum;
        });
        if (run.is_last)
            store_row<Metric, Out>(tile, group.first_row + row, first_column, sums[r],
                                   out + (group.first_row + row) * out_stride + first_column);
        else
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) { store(sums[r][v], of_row + v * lanes<T>); });
    });
}

// Does so for all groups of a tile. This function is not inlined: with a copy for each number of vectors in the loops
// around it, GCC would keep variables of these loops in registers, but a sum of the innermost loop in memory.
template <class Metric, class Out, bool skips_units, int vectors, class T = typename Metric::Unit>
__attribute__((noinline)) void fill_panel(const Tile& tile, const Run& run, std::size_t first_column, T* totals,
                                          Out* out, std::size_t out_stride) {
    constexpr int per_group = Metric::rows_per_group;
    constexpr std::size_t width = panel_width<Metric>;
    const T* panel = static_cast<const T*>(tile.panels) + first_column * tile.n_units;
    std::size_t group = 0, row = 0;
    for (; row + per_group <= tile.n_rows; ++group, row += per_group)
        fill_group<Metric, Out, skips_units, vectors, per_group>(tile, run, {tile, group, row}, first_column, panel,
                                                                 totals + row * width, out, out_stride);
    for (; row < tile.n_rows; ++group, ++row)
        fill_group<Metric, Out, skips_units, vectors, 1>(tile, run, {tile, group, row}, first_column, panel,
                                                         totals + row * width, out, out_stride);
}

// Fills a tile. The vectors of the last panel that hold nothing but padding are left out.
template <class Metric, class Out, bool skips_units>
void fill_rows(const Tile& tile, Out* out, std::size_t out_stride) {
    using T = typename Metric::Unit;
    constexpr std::size_t width = panel_width<Metric>, block = columns_per_block / width * width;
    for (std::size_t start = 0; start < tile.n_columns; start += block) {
        const std::size_t rest = tile.n_columns - start, stop = start + (rest < block ? rest : block);
        for (Run run = run_of<T>(0, tile.n_units);; run = run_of<T>(run.end, tile.n_units)) {
            for (std::size_t column = start; column < stop; column += width) {
                T* totals = static_cast<T*>(tile.totals) + (column - start) * tile.n_rows;
                const std::size_t n_vectors = (stop - column + lanes<T> - 1) / lanes<T>;
                with_constant<Metric::vectors>(
                    static_cast<int>(n_vectors), [&](auto vectors) __attribute__((always_inline)) {
                        fill_panel<Metric, Out, skips_units, vectors>(tile, run, column, totals, out, out_stride);
                    });
            }
            if (run.is_last) break;
        }
    }
}

template <class Metric, class Out>
void fill_tile(const Tile& tile, Out* out, std::size_t out_stride) {
    if constexpr (Metric::is_product) {
        using T = typename Metric::Unit;
        constexpr int per_group = Metric::rows_per_group;
        const bool skips_units = tile.products.live.units != nullptr;
        std::size_t group = 0, row = 0;
        for (; row + per_group <= tile.n_rows; ++group, row += per_group)
            skips_units ? interleave_live<T, per_group>(tile, group, row) : interleave<T, per_group>(tile, row);
        for (; row < tile.n_rows; ++group, ++row)
            skips_units ? interleave_live<T, 1>(tile, group, row) : interleave<T, 1>(tile, row);
        if (skips_units) return fill_rows<Metric, Out, true>(tile, out, out_stride);
    }
    fill_rows<Metric, Out, false>(tile, out, out_stride);
}

template <class Metric>
constexpr MetricKernels metric_kernels() {
    return {panel_width<Metric>, fill_tile<Metric, float>, fill_tile<Metric, double>};
}

}  // namespace
}  // namespace OBP_LEVEL
}  // namespace obp
