#include "rounding.hpp"

#include "distances/packed_columns.hpp"

#include <algorithm>
#include <type_traits>

#include "parallel.hpp"

namespace obp {
namespace {

// The size of a tile of packed rows. It is small enough to leave room in the second-level cache, and changes no result.
constexpr std::size_t tile_bytes = 256 * 1024;
// The number of comparisons of units below which one thread is used, because starting another takes as long.
constexpr std::size_t min_work_for_threads = 2'000'000;

Finish finish_of(Metric metric) { return metric == Metric::euclidean ? Finish::square_root : Finish::none; }

double scale_of(Metric metric, double byte_divisor, Unit unit) {
    if (metric == Metric::cosine) return 0.5;
    if (byte_divisor == 0 || unit == Unit::float32 || unit == Unit::float64) return 1;
    return 1 / (metric == Metric::sqeuclidean ? byte_divisor * byte_divisor : byte_divisor);
}

}  // namespace

PackedColumns::PackedColumns(Metric metric, InputType input_type, const void* points, std::size_t n_columns,
                             std::size_t n_features, double byte_divisor)
    : packing_(metric, input_type, points, n_columns, n_features, byte_divisor),
      n_columns_(n_columns),
      finish_(finish_of(metric)),
      scale_(scale_of(metric, byte_divisor, packing_.unit())) {
    std::vector<unsigned char> units(n_columns * packing_.n_units() * packing_.unit_bytes());
    // The bases of the columns are all zero, because they come from values in which the columns agree.
    std::vector<unsigned char> bases(n_columns * packing_.unit_bytes()), values(packing_.values_bytes());
    packing_.pack(points, n_columns, units.data(), bases.data(), values.data());
    comparison_ = choose_comparison(metric, packing_, n_columns, units);
    panels_ = to_panels(units.data(), n_columns, packing_.n_units(), packing_.unit_bytes(),
                        comparison_->kernels().panel_width);
}

// Returns a multiple of 12, so that groups of four and of six rows both fill a tile.
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
    // The rows of a tile must still be in the cache, next to the columns, when the viewer looks at them. If the columns
    // alone do not fit in the cache, tiles stay large, because the columns are read once for each tile.
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
    struct Scratch {
        std::vector<unsigned char> units, bases, values;
        Comparison::Scratch comparison;
    };
    std::vector<Scratch> scratches(static_cast<std::size_t>(n_threads));
    for (Scratch& scratch : scratches) {
        scratch.units.reserve(per_tile * units_bytes);
        scratch.bases.reserve(per_tile * packing_.unit_bytes());
        scratch.values.reserve(packing_.values_bytes());
        comparison_->reserve(scratch.comparison, per_tile, packing_.n_units());
    }
    parallel_for(n_threads, tiles_of(n_rows, per_tile), [&](std::size_t index, int thread) {
        const std::size_t first = index * per_tile, count = std::min(per_tile, n_rows - first);
        Scratch& scratch = scratches[static_cast<std::size_t>(thread)];
        scratch.units.resize(per_tile * units_bytes);
        scratch.bases.resize(per_tile * packing_.unit_bytes());
        scratch.values.resize(packing_.values_bytes());
        packing_.pack(static_cast<const unsigned char*>(rows) + first * packing_.row_bytes(), count,
                      scratch.units.data(), scratch.bases.data(), scratch.values.data());
        Tile tile{
            count,  n_columns_, packing_.n_units(), scratch.units.data(), scratch.bases.data(), panels_.data(), finish_,
            scale_, {}};
        comparison_->prepare(tile, scratch.comparison);
        if constexpr (std::is_same_v<Out, double>)
            comparison_->kernels().to_double(tile, out + first * out_stride, out_stride);
        else
            comparison_->kernels().to_float(tile, out + first * out_stride, out_stride);
        see(first, count, thread);
    });
}

template void PackedColumns::fill(const void*, std::size_t, float*, std::size_t, int) const;
template void PackedColumns::fill(const void*, std::size_t, double*, std::size_t, int) const;

}  // namespace obp
