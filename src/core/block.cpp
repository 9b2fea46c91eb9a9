#include "rounding.hpp"

#include "block.hpp"

#include <algorithm>

#include "kernels/table.hpp"
#include "parallel.hpp"

namespace obp {

namespace {
constexpr std::size_t shown_at_once = 32;  // The size of a tile changes no result.
constexpr std::size_t entries_per_line = 16;
// The number of entries below which one thread looks at a block, because starting another takes as long.
constexpr std::size_t min_entries_for_threads = 1 << 18;
}  // namespace

void show(const BlockView& block, Viewer& viewer) {
    const int n_threads = block.n_rows * block.n_columns < min_entries_for_threads ? 1 : viewer.n_threads();
    parallel_for(n_threads, tiles_of(block.n_rows, shown_at_once), [&](std::size_t tile, int thread) {
        const std::size_t first = tile * shown_at_once, count = std::min(shown_at_once, block.n_rows - first);
        viewer.see({block.row(first), count, block.n_columns, block.stride}, first, thread);
    });
}

void RowScanner::see(const BlockView& rows, std::size_t first, int thread) {
    const Kernels& level = kernels();
    Found& found = found_[static_cast<std::size_t>(thread)];
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        const RowScan row = level.scan_row(rows.row(i), rows.n_columns);
        nearest_[first + i] = row.argmin;
        distances_[first + i] = row.min;
        found.largest = std::max(found.largest, row.max);
        found.valid &= row.valid;
    }
}

float RowScanner::largest() const {
    float largest = 0;
    for (const Found& found : found_) largest = std::max(largest, found.largest);
    return largest;
}

bool RowScanner::valid() const {
    return std::all_of(found_.begin(), found_.end(), [](const Found& found) { return found.valid; });
}

void RowSummer::see(const BlockView& rows, std::size_t first, int thread) {
    const Kernels& level = kernels();
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        sums_[first + i] = caps_ ? level.capped_sum(rows.row(i), caps_, weights_, rows.n_columns)
                                 : level.weighted_sum(rows.row(i), weights_, rows.n_columns);
        are_valid_[static_cast<std::size_t>(thread)] &= level.is_valid_row(rows.row(i), rows.n_columns);
    }
}

bool RowSummer::valid() const {
    return std::all_of(are_valid_.begin(), are_valid_.end(), [](char is_valid) { return is_valid; });
}

void RowTransposer::see(const BlockView& rows, std::size_t first, int thread) {
    const Kernels& level = kernels();
    for (std::size_t i = 0; i < rows.n_rows; ++i)
        are_valid_[static_cast<std::size_t>(thread)] &= level.is_valid_row(rows.row(i), rows.n_columns);
    // A cache line of each row at a time, which is read for one column after the other.
    for (std::size_t begin = 0; begin < rows.n_columns; begin += entries_per_line) {
        const std::size_t end = std::min(rows.n_columns, begin + entries_per_line);
        for (std::size_t column = begin; column < end; ++column) {
            float* to = transposed_ + column * stride_ + first;
            for (std::size_t i = 0; i < rows.n_rows; ++i) to[i] = rows.row(i)[column];
        }
    }
}

bool RowTransposer::valid() const {
    return std::all_of(are_valid_.begin(), are_valid_.end(), [](char is_valid) { return is_valid; });
}

}  // namespace obp
