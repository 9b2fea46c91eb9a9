// The hot loops, compiled once per SIMD level (OBP_LEVEL names it). Nothing here allocates, throws or knows of
// threads, and no function of a standard header is used: compiled for one level it must not serve another.
#include "metrics.hpp"
#include "simd.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

// Sums are folded every so many units: float sums stay short, so that their rounding errors do too.
constexpr std::size_t units_per_sum = 128;

template <class T>
constexpr std::size_t panel_width = vectors_per_panel * lanes<T>;

template <class T, std::size_t n>
inline void apply(Finish finish, double scale, T (&values)[n]) {
    if (finish == Finish::square_root)
        for (T& value : values) value = sizeof(T) == sizeof(float) ? __builtin_sqrtf(value) : __builtin_sqrt(value);
    if (scale != 1)
        for (T& value : values) value *= static_cast<T>(scale);
}
// A sum of step(a, b) over two rows, by the same number of side sums at every level.
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

// |a - b|^2 = |a|^2 + |b|^2 - 2 ab takes one operation per unit where differences take three, but cancels for close
// rows: those, below a fraction of |a|^2 + |b|^2 that keeps the relative error near 1e-5, are computed from
// differences.
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
        n_close += !(values[c] >= too_close * lengths[c]);  // also where the lengths overflow
    }
    if (n_close == 0) return;
    const float* a = products.rows + row * tile.n_units;
    for (std::size_t c = 0; c < n_columns; ++c)
        if (!(values[c] >= too_close * lengths[c]))
            values[c] = products.bases[row] +
                        squared_distance(a, products.columns + (first_column + c) * tile.n_units, tile.n_units);
}

// Integers cancel exactly, also where they wrap around on the way.
template <std::size_t width>
inline void squares_from_products(const Tile& tile, std::size_t row, std::size_t first_column, std::size_t n_columns,
                                  std::uint32_t (&values)[width]) {
    const auto* column_squares = static_cast<const std::uint32_t*>(tile.products.column_squares) + first_column;
    const std::uint32_t row_square = static_cast<const std::uint32_t*>(tile.products.row_squares)[row];
    for (std::size_t c = 0; c < n_columns; ++c) values[c] = row_square + column_squares[c] - 2 * values[c];
}

// What a sum becomes before it is finished and stored: sums of bytes, which are exact, what is to be stored.
template <class Out>
inline float result_of(float sum) {
    return sum;
}
template <class Out>
inline double result_of(double sum) {
    return sum;
}
template <class Out>
inline Out result_of(std::uint32_t sum) {
    return static_cast<Out>(sum);
}
template <class Out>
inline Out result_of(std::uint64_t sum) {
    return static_cast<Out>(static_cast<std::int32_t>(sum));  // of which there are vectors at every level
}

// Part of LiveUnits: that of one group of rows.
template <class T>
struct LiveGroup {
    std::uint32_t* units;
    T* values;  // of all rows of the group, unit after unit
    std::uint32_t* ends;
};

template <class T>
inline LiveGroup<T> live_group(const Tile& tile, std::size_t group, std::size_t first_row) {
    const LiveUnits& live = tile.products.live;
    return {live.units + group * tile.n_units, static_cast<T*>(live.values) + first_row * tile.n_units,
            live.ends + group * tile.n_units};
}

template <class T, int n_rows>
inline void gather_live(const Tile& tile, std::size_t first_row, const LiveGroup<T>& live) {
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    std::uint32_t count = 0, *end = live.ends;
    for (std::size_t start = 0; start < tile.n_units; start += units_per_sum) {
        const std::size_t rest = tile.n_units - start, stop = start + (rest < units_per_sum ? rest : units_per_sum);
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

// One group of rows against one panel of columns; all accumulators stay in registers.
template <class Metric, class Out, int n_rows>
inline void fill_group(const Tile& tile, std::size_t group, std::size_t first_row, std::size_t first_column,
                       const typename Metric::Unit* panel, Out* out, std::size_t out_stride) {
    using T = typename Metric::Unit;
    using V = Vector<T>;
    constexpr std::size_t width = panel_width<T>;
    const T* rows = static_cast<const T*>(tile.rows) + first_row * tile.n_units;
    const T* bases = static_cast<const T*>(tile.bases) + first_row;
    const LiveGroup<T> live = Metric::is_product ? live_group<T>(tile, group, first_row) : LiveGroup<T>{};
    V totals[n_rows][vectors_per_panel];
    for (int row = 0; row < n_rows; ++row)
        for (int v = 0; v < vectors_per_panel; ++v) totals[row][v] = broadcast(bases[row]);
    std::size_t begin = 0;
    for (std::size_t run = 0, start = 0; start < tile.n_units; ++run, start += units_per_sum) {
        const std::size_t rest = tile.n_units - start, stop = start + (rest < units_per_sum ? rest : units_per_sum);
        const std::size_t end = Metric::is_product ? live.ends[run] : stop;
        V sums[n_rows][vectors_per_panel] = {};
#pragma GCC unroll 2
        for (std::size_t i = begin; i < end; ++i) {
            const T* units = panel + (Metric::is_product ? live.units[i] : i) * width;
            V b[vectors_per_panel];
            for (int v = 0; v < vectors_per_panel; ++v) b[v] = load(units + v * lanes<T>);
            unrolled<n_rows>([&](auto row) {
                const V a =
                    broadcast(Metric::is_product ? live.values[i * n_rows + row] : rows[row * tile.n_units + i]);
                for (int v = 0; v < vectors_per_panel; ++v)
                    sums[row][v] = Metric::template step<row>(sums[row][v], a, b[v]);
            });
        }
        begin = end;
        for (int row = 0; row < n_rows; ++row)
            for (int v = 0; v < vectors_per_panel; ++v) {
                V& total = totals[row][v];
                total = Metric::takes_maximum ? maximum(total, sums[row][v]) : total + sums[row][v];
            }
    }
    const std::size_t rest = tile.n_columns - first_column, n_columns = rest < width ? rest : width;
    for (int row = 0; row < n_rows; ++row) {
        T values[width];
        __builtin_memcpy(values, totals[row], sizeof values);
        if constexpr (Metric::is_product)
            squares_from_products(tile, first_row + static_cast<std::size_t>(row), first_column, n_columns, values);
        decltype(result_of<Out>(T())) results[width];
        for (std::size_t c = 0; c < width; ++c) results[c] = result_of<Out>(values[c]);
        apply(tile.finish, tile.scale, results);
        Out* to = out + (first_row + static_cast<std::size_t>(row)) * out_stride + first_column;
        if (n_columns == width)  // a constant number of columns is stored by vectors
            for (std::size_t c = 0; c < width; ++c) to[c] = static_cast<Out>(results[c]);
        else
            for (std::size_t c = 0; c < n_columns; ++c) to[c] = static_cast<Out>(results[c]);
    }
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

inline Floats where(Vector<std::int32_t> mask, Floats x) { return (Floats)((Vector<std::int32_t>)x & mask); }

// As fill_group, with a second sum for the weights of the features that both rows have.
template <int n_rows>
inline void fill_gower_group(const GowerTile& tile, std::size_t first_row, std::size_t first_column, const float* panel,
                             float* out, std::size_t out_stride) {
    constexpr std::size_t width = panel_width<float>;
    const Floats one = broadcast(1.0f);
    const float* rows = tile.rows + first_row * tile.n_features;
    Floats sums[n_rows][vectors_per_panel] = {}, weights[n_rows][vectors_per_panel] = {};
    for (std::size_t start = 0; start < tile.n_features; start += units_per_sum) {
        const std::size_t rest = tile.n_features - start, stop = start + (rest < units_per_sum ? rest : units_per_sum);
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

double largest(const double* values, std::size_t n) {
    constexpr std::size_t step = lanes<double>;
    double best = values[0];
    std::size_t i = 0;
    if (n >= step) {
        Doubles bests = load(values);
        for (i = step; i + step <= n; i += step) bests = maximum(bests, load(values + i));
        for (std::size_t lane = 0; lane < step; ++lane) best = bests[lane] > best ? bests[lane] : best;
    }
    for (; i < n; ++i) best = values[i] > best ? values[i] : best;
    return best;
}

inline std::uint64_t below(const float* entries, const float* thresholds) {
    std::uint64_t bits = 0;
    for (std::size_t v = 0; v < 64; v += lanes<float>) bits |= less_than(load(entries + v), load(thresholds + v)) << v;
    return bits;
}

// gain(i, l) = sum_j w_j max(0, d1_j - d_ij)                                    what i wins from every medoid
//            + sum_{j: near(j) = l} w_j (d1_j - d2_j)                           what dropping l costs
//            + sum_{j: near(j) = l, d_ij < d2_j} w_j (d2_j - max(d1_j, d_ij))   and what i takes over of that cost
// Only the few j with d_ij < d2_j contribute beyond the precomputed second line.
Swap evaluate_swap(const SwapView& state, const float* row, double* gains) {
    __builtin_memcpy(gains, state.removal_gains, state.k * sizeof(double));
    double shared = 0;
    const auto take = [&](std::size_t j) {
        const double d = row[j], d1 = state.nearest_distance[j], d2 = state.second_distance[j], w = state.weights[j];
        shared += w * (d1 - (d < d1 ? d : d1));
        gains[state.nearest[j]] += w * (d2 - (d < d1 ? d1 : d));
    };
    std::size_t j = 0;
    for (; j + 64 <= state.m; j += 64) {  // many at once: a branch for each vector would often be mispredicted
        std::uint64_t bits = below(row + j, state.second_distance + j);
        for (; bits; bits &= bits - 1) take(j + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
    for (; j < state.m; ++j)
        if (row[j] < state.second_distance[j]) take(j);
    const double best = largest(gains, state.k);
    std::int32_t slot = 0;
    while (gains[slot] != best) ++slot;  // of equal removals the lowest slot
    return {shared + best, slot};
}

double weighted_sum(const float* row, const double* weights, std::size_t m) {
    constexpr std::size_t n_sums = 8;  // the same number at every level
    double sums[n_sums] = {};
    std::size_t j = 0;
    for (; j + n_sums <= m; j += n_sums)
        for (std::size_t s = 0; s < n_sums; ++s) sums[s] += static_cast<double>(row[j + s]) * weights[j + s];
    double total = 0;
    for (; j < m; ++j) total += static_cast<double>(row[j]) * weights[j];
    for (std::size_t s = 0; s < n_sums; ++s) total += sums[s];
    return total;
}

RowScan scan_row(const float* row, std::size_t m) {
    constexpr std::size_t step = lanes<float>;
    float smallest = row[0], greatest = row[0];
    bool valid = true;
    const auto see = [&](float d) {
        smallest = d < smallest ? d : smallest;
        greatest = d > greatest ? d : greatest;
        valid &= d >= 0 && d <= __FLT_MAX__;
    };
    std::size_t j = 0;
    if (m >= step) {
        Floats low = load(row), high = low;
        Vector<std::int32_t> all_valid = ~Vector<std::int32_t>{};
        for (; j + step <= m; j += step) {
            const Floats d = load(row + j);
            low = d < low ? d : low;
            high = d > high ? d : high;
            all_valid &= (d >= 0.0f) & (d <= __FLT_MAX__);
        }
        for (std::size_t lane = 0; lane < step; ++lane) {
            see(low[lane]);
            see(high[lane]);
            valid &= all_valid[lane] != 0;
        }
    }
    for (; j < m; ++j) see(row[j]);
    std::int32_t argmin = 0;
    if (valid)
        while (row[argmin] != smallest) ++argmin;
    return {argmin, smallest, greatest, valid};
}

}  // namespace

#define OBP_NAME_OF(level) #level
#define OBP_NAME(level) OBP_NAME_OF(level)

extern const Kernels table;
const Kernels table = {
    OBP_NAME(OBP_LEVEL),
    metric_kernels<Manhattan<float>>(),
    metric_kernels<Manhattan<double>>(),
    metric_kernels<ManhattanBytes>(),
    metric_kernels<SquaredEuclidean<float>>(),
    metric_kernels<SquaredEuclidean<double>>(),
    metric_kernels<Chebyshev<float>>(),
    metric_kernels<Chebyshev<double>>(),
    metric_kernels<DotProduct>(),
    metric_kernels<DotProductBytes>(),
    {panel_width<float>, fill_gower},
    dot_product,
    evaluate_swap,
    weighted_sum,
    scan_row,
    below,
};

}  // namespace OBP_LEVEL
}  // namespace obp
