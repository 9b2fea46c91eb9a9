#include "rounding.hpp"

#include "distances/packed_columns.hpp"

#include <algorithm>
#include <type_traits>

#include "parallel.hpp"

namespace obp {
namespace {

// The largest size of a tile. Many rows read the columns less often; the memory of a thread must stay small. Groups of
// four, six and eight rows all fill a tile of 24 rows. The size of a tile changes no result.
constexpr std::size_t max_tile_rows = 96, max_tile_bytes = 4 << 20, rows_per_step = 24;
// A thread that has several tiles to take does not wait long for the others at the end.
constexpr std::size_t min_tiles_per_thread = 4;
// The part of the second-level cache that a tile of dissimilarities may fill if a viewer is to find it there.
constexpr std::size_t cached_bytes = 256 * 1024;
// The number of comparisons of units below which one thread is used, because starting another takes as long.
constexpr std::size_t min_work_for_threads = 2'000'000;

Finish finish_of(Metric metric) { return metric == Metric::euclidean ? Finish::square_root : Finish::none; }

double scale_of(Metric metric, double byte_divisor, Unit unit) {
    if (metric == Metric::cosine) return 0.5;
    if (byte_divisor == 0 || unit == Unit::float32 || unit == Unit::float64) return 1;
    return 1 / (metric == Metric::sqeuclidean ? byte_divisor * byte_divisor : byte_divisor);
}

// Returns a number of rows, not above `most`, that groups of any size divide.
std::size_t whole_steps(std::size_t n_rows, std::size_t most) {
    return std::clamp(n_rows / rows_per_step * rows_per_step, rows_per_step, most);
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

std::size_t PackedColumns::rows_per_tile() const {
    const std::size_t row_bytes = packing_.n_units() * packing_.unit_bytes();
    return whole_steps(max_tile_bytes / (row_bytes + 1), max_tile_rows);
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
    if (panels_.size() <= cached_bytes) per_tile = whole_steps(cached_bytes / (n_columns_ * sizeof(float)), per_tile);
    fill_tiles(rows, n_rows, per_tile, out, out_stride, viewer.n_threads(),
               [&](std::size_t first, std::size_t count, int thread) {
                   viewer.see({out + first * out_stride, count, n_columns_, out_stride}, first, thread);
               });
}

// The memory of one thread, for one tile of rows.
struct PackedColumns::Scratch {
    std::vector<unsigned char> units, bases, values;
    std::unique_ptr<unsigned char[]> totals;
    Comparison::Scratch comparison;
};

// Allocates the memory of a thread. The thread that starts the others calls it, because an exception in a new thread
// ends the process if there is no memory left for the exception.
void PackedColumns::reserve(Scratch& scratch, std::size_t n_rows) const {
    scratch.units.reserve(n_rows * packing_.n_units() * packing_.unit_bytes());
    scratch.bases.reserve(n_rows * packing_.unit_bytes());
    scratch.values.reserve(packing_.values_bytes());
    scratch.totals.reset(new unsigned char[n_rows * columns_per_block * packing_.unit_bytes()]);
    comparison_->reserve(scratch.comparison, n_rows, packing_.n_units());
}

// Packs rows into the memory of a thread, and makes a tile of them.
Tile PackedColumns::make_tile(const void* rows, std::size_t n_rows, Scratch& scratch) const {
    scratch.units.resize(n_rows * packing_.n_units() * packing_.unit_bytes());
    scratch.bases.resize(n_rows * packing_.unit_bytes());
    scratch.values.resize(packing_.values_bytes());
    packing_.pack(rows, n_rows, scratch.units.data(), scratch.bases.data(), scratch.values.data());
    Tile tile{};
    tile.n_rows = n_rows;
    tile.n_columns = n_columns_;
    tile.n_units = packing_.n_units();
    tile.rows = scratch.units.data();
    tile.bases = scratch.bases.data();
    tile.panels = panels_.data();
    tile.totals = scratch.totals.get();
    tile.finish = finish_;
    tile.scale = scale_;
    comparison_->prepare(tile, scratch.comparison);
    return tile;
}

template <class Out, class See>
void PackedColumns::fill_tiles(const void* rows, std::size_t n_rows, std::size_t per_tile, Out* out,
                               std::size_t out_stride, int n_threads, const See& see) const {
    if (n_rows == 0) return;
    if (n_rows * n_columns_ * packing_.n_units() < min_work_for_threads) n_threads = 1;
    const auto n_tiles_wanted = static_cast<std::size_t>(n_threads) * (n_threads > 1 ? min_tiles_per_thread : 1);
    per_tile = std::min(per_tile, tiles_of(tiles_of(n_rows, n_tiles_wanted), rows_per_step) * rows_per_step);
    std::vector<Scratch> scratches(static_cast<std::size_t>(n_threads));
    for (Scratch& scratch : scratches) reserve(scratch, std::min(per_tile, n_rows));
    parallel_for(n_threads, tiles_of(n_rows, per_tile), [&](std::size_t index, int thread) {
        const std::size_t first = index * per_tile, count = std::min(per_tile, n_rows - first);
        const Tile tile = make_tile(static_cast<const unsigned char*>(rows) + first * packing_.row_bytes(), count,
                                    scratches[static_cast<std::size_t>(thread)]);
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
