#include "distances/packed_columns.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "parallel.hpp"

namespace obp {
namespace {

// Tiles of packed rows that leave room in the second-level cache, in whole groups of rows; their size changes no
// result.
constexpr std::size_t tile_bytes = 256 * 1024;
constexpr std::size_t max_tile_rows = 96;
// Less takes no longer than to start a thread.
constexpr std::size_t min_work_for_threads = 2'000'000;
// Below this length a dot product saves nothing over differences.
constexpr std::size_t min_units_for_products = 32;

const MetricKernels& kernels_for(Metric metric, Unit unit, const Kernels& level) {
    const bool wide = unit == Unit::float64;
    switch (metric) {
        case Metric::manhattan:
            return wide ? level.manhattan_f64 : unit == Unit::eight_bytes ? level.manhattan_u8 : level.manhattan_f32;
        case Metric::chebyshev:
            return wide ? level.chebyshev_f64 : level.chebyshev_f32;
        default:
            return wide ? level.sqeuclidean_f64 : level.sqeuclidean_f32;
    }
}

Finish finish_of(Metric metric) { return metric == Metric::euclidean ? Finish::square_root : Finish::none; }

double scale_of(Metric metric, double byte_divisor, Unit unit) {
    if (metric == Metric::cosine) return 0.5;
    if (byte_divisor == 0 || unit == Unit::float32 || unit == Unit::float64) return 1;
    return 1 / (metric == Metric::sqeuclidean ? byte_divisor * byte_divisor : byte_divisor);
}

bool is_squared_euclidean(Metric metric) {
    return metric == Metric::euclidean || metric == Metric::sqeuclidean || metric == Metric::cosine;
}

// centred = rows - centre, and the squared length of each
void centre_rows(const float* rows, std::size_t n_rows, const std::vector<float>& centre, const Kernels& level,
                 float* centred, float* squares) {
    const std::size_t n_units = centre.size();
    for (std::size_t i = 0; i < n_rows; ++i, rows += n_units, centred += n_units) {
        for (std::size_t u = 0; u < n_units; ++u) centred[u] = rows[u] - centre[u];
        squares[i] = level.dot_product(centred, centred, n_units);
    }
}

// The mean of the rows; zero if most of their values are, because then they lie around zero already and the kernels
// skip what is zero.
std::vector<float> centre_of(const std::vector<float>& rows, std::size_t n_units) {
    std::vector<float> centre(n_units);
    const auto n_zeros = static_cast<std::size_t>(std::count(rows.begin(), rows.end(), 0.0f));
    if (2 * n_zeros > rows.size()) return centre;
    std::vector<double> sums(n_units);
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i % n_units] += rows[i];
    for (std::size_t u = 0; u < n_units; ++u) centre[u] = static_cast<float>(sums[u] * n_units / rows.size());
    return centre;
}

// The squared length of each row of 16-bit integers.
void square_rows(const void* units, std::size_t n_rows, std::size_t n_units, std::uint32_t* squares) {
    const auto* value = static_cast<const std::uint16_t*>(units);
    for (std::size_t i = 0; i < n_rows; ++i) {
        squares[i] = 0;
        for (std::size_t v = 0; v < 2 * n_units; ++v, ++value) squares[i] += std::uint32_t{*value} * *value;
    }
}

}  // namespace

PackedColumns::PackedColumns(Metric metric, InputType input_type, const void* points, std::size_t n_columns,
                             std::size_t n_features, double byte_divisor)
    : packing_(metric, input_type, points, n_columns, n_features, byte_divisor),
      n_columns_(n_columns),
      level_(&kernels()),
      finish_(finish_of(metric)),
      scale_(scale_of(metric, byte_divisor, packing_.unit())),
      way_(choose_way(metric)) {
    kernels_ = way_ == Way::pair_products    ? &level_->sqeuclidean_by_products_u8
               : way_ == Way::float_products ? &level_->sqeuclidean_by_products_f32
                                             : &kernels_for(metric, packing_.unit(), *level_);
    std::vector<unsigned char> units(n_columns * packing_.n_units() * packing_.unit_bytes());
    std::vector<unsigned char> bases(n_columns * packing_.unit_bytes());  // all zero: columns agree with the first
    packing_.pack(points, n_columns, units.data(), bases.data());
    if (way_ == Way::float_products) centre_columns(units);
    if (way_ == Way::pair_products) {
        pair_squares_.resize(n_columns);
        square_rows(units.data(), n_columns, packing_.n_units(), pair_squares_.data());
    }
    panels_ = to_panels(units.data(), n_columns, packing_.n_units(), packing_.unit_bytes(), kernels_->panel_width);
}

PackedColumns::Way PackedColumns::choose_way(Metric metric) const {
    if (packing_.unit() == Unit::pair_of_integers) return Way::pair_products;
    const bool is_long = packing_.unit() == Unit::float32 && packing_.n_units() >= min_units_for_products;
    return is_long && is_squared_euclidean(metric) ? Way::float_products : Way::differences;
}

void PackedColumns::centre_columns(std::vector<unsigned char>& units) {
    const std::size_t n_units = packing_.n_units();
    columns_.resize(n_columns_ * n_units);
    std::memcpy(columns_.data(), units.data(), units.size());
    centre_ = centre_of(columns_, n_units);
    column_squares_.resize(n_columns_);
    std::vector<float> centred(columns_.size());
    centre_rows(columns_.data(), n_columns_, centre_, *level_, centred.data(), column_squares_.data());
    std::memcpy(units.data(), centred.data(), units.size());
}

std::size_t PackedColumns::rows_per_tile() const {
    const std::size_t row_bytes = packing_.n_units() * packing_.unit_bytes();
    return std::clamp<std::size_t>(tile_bytes / (row_bytes + 1) / 12 * 12, 12, max_tile_rows);
}

template <class Out>
void PackedColumns::fill(const void* rows, std::size_t n_rows, Out* out, std::size_t out_stride, int n_threads) const {
    fill_tiles(rows, n_rows, rows_per_tile(), out, out_stride, n_threads, [](std::size_t, std::size_t, int) {});
}

void PackedColumns::fill(const void* rows, std::size_t n_rows, float* out, std::size_t out_stride,
                         Viewer& viewer) const {
    // What was computed is to be in the cache still, beside the columns; if these are too large for it, they are
    // better read for many rows at once.
    std::size_t per_tile = rows_per_tile();
    if (panels_.size() <= tile_bytes)
        per_tile = std::clamp<std::size_t>(tile_bytes / (n_columns_ * sizeof(float)) / 12 * 12, 12, per_tile);
    fill_tiles(rows, n_rows, per_tile, out, out_stride, viewer.n_threads(),
               [&](std::size_t first, std::size_t count, int thread) {
                   viewer.see({out + first * out_stride, count, n_columns_, out_stride}, first, thread);
               });
}

template <class Out, class See>
void PackedColumns::fill_tiles(const void* rows, std::size_t n_rows, std::size_t per_tile, Out* out,
                               std::size_t out_stride, int n_threads, const See& see) const {
    const std::size_t units_bytes = packing_.n_units() * packing_.unit_bytes();
    if (n_rows * n_columns_ * packing_.n_units() < min_work_for_threads) n_threads = 1;
    std::vector<Scratch> scratches(static_cast<std::size_t>(n_threads));
    parallel_for(n_threads, tiles_of(n_rows, per_tile), [&](std::size_t index, int thread) {
        const std::size_t first = index * per_tile, count = std::min(per_tile, n_rows - first);
        Scratch& scratch = scratches[static_cast<std::size_t>(thread)];
        scratch.units.resize(per_tile * units_bytes);
        scratch.bases.resize(per_tile * packing_.unit_bytes());
        packing_.pack(static_cast<const unsigned char*>(rows) + first * packing_.row_bytes(), count,
                      scratch.units.data(), scratch.bases.data());
        Tile tile{
            count,  n_columns_, packing_.n_units(), scratch.units.data(), scratch.bases.data(), panels_.data(), finish_,
            scale_, {}};
        if (way_ != Way::differences) prepare_products(tile, scratch);
        if constexpr (std::is_same_v<Out, double>)
            kernels_->to_double(tile, out + first * out_stride, out_stride);
        else
            kernels_->to_float(tile, out + first * out_stride, out_stride);
        see(first, count, thread);
    });
}

// Lets the tile compute dot products instead; the bases are then added to the squared lengths of the rows.
void PackedColumns::prepare_products(Tile& tile, Scratch& scratch) const {
    static const std::vector<std::uint32_t> zeros(max_tile_rows);  // also as floats
    scratch.live_units.resize(tile.n_rows * tile.n_units);
    scratch.live_ends.resize(tile.n_rows * tile.n_units);
    scratch.live_values.resize(tile.n_rows * tile.n_units * packing_.unit_bytes());
    const LiveUnits live{scratch.live_units.data(), scratch.live_values.data(), scratch.live_ends.data()};
    if (way_ == Way::pair_products) {
        const auto* bases = static_cast<const std::uint32_t*>(tile.bases);
        scratch.pair_squares.resize(tile.n_rows);
        square_rows(tile.rows, tile.n_rows, tile.n_units, scratch.pair_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.pair_squares[i] += bases[i];
        tile.products = {scratch.pair_squares.data(), pair_squares_.data(), nullptr, nullptr, nullptr, live};
    } else {
        const auto* rows = static_cast<const float*>(tile.rows);
        const auto* bases = static_cast<const float*>(tile.bases);
        scratch.centred.resize(tile.n_rows * tile.n_units);
        scratch.row_squares.resize(tile.n_rows);
        centre_rows(rows, tile.n_rows, centre_, *level_, scratch.centred.data(), scratch.row_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.row_squares[i] += bases[i];
        tile.rows = scratch.centred.data();
        tile.products = {scratch.row_squares.data(), column_squares_.data(), rows, columns_.data(), bases, live};
    }
    tile.bases = zeros.data();
}

template void PackedColumns::fill(const void*, std::size_t, float*, std::size_t, int) const;
template void PackedColumns::fill(const void*, std::size_t, double*, std::size_t, int) const;

}  // namespace obp
