// The loops that fill a tile of Gower dissimilarities. Only kernels.cpp includes this file, once for each SIMD level.
#pragma once

#include "kernels/fill.hpp"

namespace obp {
namespace OBP_LEVEL {
namespace {

constexpr std::size_t gower_width = vectors_per_panel * lanes<float>;

// Returns x in the lanes that the mask selects, and 0 in the others.
inline Floats where(Vector<std::int32_t> mask, Floats x) { return (Floats)((Vector<std::int32_t>)x & mask); }

// Tells whether a row and a column of a panel are both infinite in a feature that has a weight.
inline bool share_infinity(const GowerTile& tile, const float* row, const float* column) {
    for (std::size_t feature = 0; feature < tile.n_features; ++feature)
        if (tile.weights[feature] > 0 && __builtin_isinf(row[feature]) && row[feature] == column[feature * gower_width])
            return true;
    return false;
}

// As fill_group, with a second sum: the weights of the features that both row and column have.
template <int n_rows>
inline void fill_gower_group(const GowerTile& tile, std::size_t first_row, std::size_t first_column, const float* panel,
                             float* out, std::size_t out_stride) {
    constexpr std::size_t width = gower_width;
    const Floats one = broadcast(1.0f);
    const float* rows = tile.rows + first_row * tile.n_features;
    Floats sums[n_rows][vectors_per_panel] = {}, weights[n_rows][vectors_per_panel] = {};
    for (std::size_t start = 0, stop = 0; start < tile.n_features; start = stop) {
        stop = run_of<float>(start, tile.n_features).end;
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
            means[v] = weights[row][v] > 0.0f ? sums[row][v] / weights[row][v] : -one;
        float* entries = out + (first_row + static_cast<std::size_t>(row)) * out_stride + first_column;
        __builtin_memcpy(entries, means, n_columns * sizeof(float));
        for (std::size_t column = 0; column < n_columns; ++column)
            if (entries[column] < 0)  // no feature counts
                entries[column] = share_infinity(tile, rows + row * tile.n_features, panel + column) ? 0.0f : 1.0f;
    }
}

void fill_gower(const GowerTile& tile, float* out, std::size_t out_stride) {
    constexpr std::size_t width = gower_width;
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
