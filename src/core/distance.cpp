#include "distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parallel.hpp"

namespace obp {
namespace {

template <class From, class Unit>
void pack_values(const void* row, std::size_t n_features, void* units, std::size_t) {
    const From* from = static_cast<const From*>(row);
    std::copy(from, from + n_features, static_cast<Unit*>(units));
}

void pack_bytes(const void* row, std::size_t n_features, void* units, std::size_t n_units) {
    std::memset(static_cast<std::uint64_t*>(units) + n_units - 1, 0, sizeof(std::uint64_t));
    std::memcpy(units, row, n_features);
}

// Rows of length one: 1 - cos(a, b) is half their squared distance, without cancellation. A row of zeros has no
// direction; it gets one of its own, in an extra feature, at distance 1 from every other.
template <class From, class Unit>
void pack_direction(const void* row, std::size_t n_features, void* units, std::size_t n_units) {
    const From* from = static_cast<const From*>(row);
    Unit* to = static_cast<Unit*>(units);
    double scale = 0, squares = 0;
    for (std::size_t f = 0; f < n_features; ++f) scale = std::max(scale, std::abs(static_cast<double>(from[f])));
    if (scale > 0)
        for (std::size_t f = 0; f < n_features; ++f) squares += (from[f] / scale) * (from[f] / scale);
    const double length = std::sqrt(squares);
    for (std::size_t f = 0; f < n_features; ++f)
        to[f] = scale > 0 ? static_cast<Unit>(from[f] / scale / length) : Unit(0);
    to[n_units - 1] = scale > 0 ? Unit(0) : Unit(1);
}

std::size_t bytes_of(Source source) {
    return source == Source::float64 ? sizeof(double) : source == Source::float32 ? sizeof(float) : 1;
}

// Tiles of packed rows that leave room in the second-level cache; their size changes no result.
constexpr std::size_t tile_bytes = 128 * 1024;
constexpr std::size_t max_tile_rows = 96;

std::size_t tiles_of(std::size_t n, std::size_t per_tile) { return (n + per_tile - 1) / per_tile; }

}  // namespace

PackedColumns::PackedColumns(Metric metric, Source source, const void* points, std::size_t n_columns,
                             std::size_t n_features)
    : source_(source), n_columns_(n_columns), n_features_(n_features), n_units_(n_features), finish_(Finish::none) {
    const Kernels& level = kernels();
    const bool wide = source == Source::float64;
    unit_bytes_ = wide ? sizeof(double) : sizeof(float);
    pack_row_ = wide                        ? pack_values<double, double>
                : source == Source::float32 ? pack_values<float, float>
                                            : pack_values<std::uint8_t, float>;
    switch (metric) {
        case Metric::manhattan:
            kernels_ = wide ? &level.manhattan_f64 : &level.manhattan_f32;
            if (source == Source::uint8) {
                kernels_ = &level.manhattan_u8;
                unit_bytes_ = sizeof(std::uint64_t);
                n_units_ = (n_features + 7) / 8;
                pack_row_ = pack_bytes;
            }
            break;
        case Metric::chebyshev:
            kernels_ = wide ? &level.chebyshev_f64 : &level.chebyshev_f32;
            break;
        case Metric::sqeuclidean:
        case Metric::euclidean:
            kernels_ = wide ? &level.sqeuclidean_f64 : &level.sqeuclidean_f32;
            finish_ = metric == Metric::euclidean ? Finish::square_root : Finish::none;
            break;
        case Metric::cosine:
            kernels_ = wide ? &level.sqeuclidean_f64 : &level.sqeuclidean_f32;
            finish_ = Finish::half;
            n_units_ = n_features + 1;
            pack_row_ = wide                        ? pack_direction<double, double>
                        : source == Source::float32 ? pack_direction<float, float>
                                                    : pack_direction<std::uint8_t, float>;
            break;
    }

    const std::size_t width = kernels_->panel_width;
    panels_.resize(tiles_of(n_columns, width) * width * n_units_ * unit_bytes_);
    std::vector<unsigned char> units(n_units_ * unit_bytes_);
    for (std::size_t column = 0; column < n_columns; ++column) {
        pack_row_(static_cast<const unsigned char*>(points) + column * n_features * bytes_of(source), n_features,
                  units.data(), n_units_);
        unsigned char* to = panels_.data() + (column / width * n_units_ * width + column % width) * unit_bytes_;
        for (std::size_t unit = 0; unit < n_units_; ++unit)
            std::memcpy(to + unit * width * unit_bytes_, units.data() + unit * unit_bytes_, unit_bytes_);
    }
}

template <class Out>
void PackedColumns::fill(const void* rows, std::size_t n_rows, Out* out, int n_threads) const {
    const std::size_t units_bytes = n_units_ * unit_bytes_, row_bytes = n_features_ * bytes_of(source_);
    const std::size_t fitting = std::clamp<std::size_t>(tile_bytes / units_bytes, 4, max_tile_rows) / 4 * 4;
    std::vector<std::vector<unsigned char>> packed(n_threads);
    parallel_for(n_threads, tiles_of(n_rows, fitting), [&](std::size_t tile_index, int thread) {
        const std::size_t first = tile_index * fitting, count = std::min(fitting, n_rows - first);
        packed[thread].resize(fitting * units_bytes);
        for (std::size_t i = 0; i < count; ++i)
            pack_row_(static_cast<const unsigned char*>(rows) + (first + i) * row_bytes, n_features_,
                      packed[thread].data() + i * units_bytes, n_units_);
        const Tile tile{count, n_columns_, n_units_, packed[thread].data(), panels_.data(), finish_};
        if constexpr (sizeof(Out) == sizeof(float))
            kernels_->to_float(tile, out + first * n_columns_, n_columns_);
        else
            kernels_->to_double(tile, out + first * n_columns_, n_columns_);
    });
}

template void PackedColumns::fill(const void*, std::size_t, float*, int) const;
template void PackedColumns::fill(const void*, std::size_t, double*, int) const;

namespace {
constexpr std::size_t scan_tile_rows = 64;
}

BlockScan scan_rows(const float* block, std::size_t n_rows, std::size_t n_columns, std::int32_t* nearest,
                    int n_threads) {
    const Kernels& level = kernels();
    const std::size_t n_tiles = tiles_of(n_rows, scan_tile_rows);
    std::vector<BlockScan> scans(n_tiles, {0, true});
    parallel_for(n_threads, n_tiles, [&](std::size_t tile, int) {
        for (std::size_t i = tile * scan_tile_rows; i < std::min(n_rows, (tile + 1) * scan_tile_rows); ++i) {
            const RowScan row = level.scan_row(block + i * n_columns, n_columns);
            nearest[i] = row.argmin;
            scans[tile].max = std::max(scans[tile].max, row.max);
            scans[tile].valid &= row.valid;
        }
    });
    BlockScan total{0, true};
    for (const BlockScan& scan : scans) total = {std::max(total.max, scan.max), total.valid && scan.valid};
    return total;
}

void weighted_row_sums(const float* block, std::size_t n_rows, std::size_t n_columns, const double* weights,
                       double* sums, int n_threads) {
    const Kernels& level = kernels();
    parallel_for(n_threads, tiles_of(n_rows, scan_tile_rows), [&](std::size_t tile, int) {
        for (std::size_t i = tile * scan_tile_rows; i < std::min(n_rows, (tile + 1) * scan_tile_rows); ++i)
            sums[i] = level.weighted_sum(block + i * n_columns, weights, n_columns);
    });
}

}  // namespace obp
