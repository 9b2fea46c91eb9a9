// How the kernels compare the units of a row with those of a column: by differences or, for squared Euclidean
// distances, by dot products.
//
//   |a - b|^2 = |a|^2 + |b|^2 - 2 ab
//
// takes fewer operations than differences do, but needs the squared lengths of rows and columns. Each comparison holds
// what it needs of the columns and completes a tile of packed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "distances/packing.hpp"
#include "kernels/table.hpp"

namespace obp {

constexpr std::size_t max_tile_rows = 96;

class Comparison {
public:
    // Buffers of one thread, for one tile of rows.
    struct Scratch {
        std::vector<float> centred, float_squares;
        std::vector<std::uint32_t> integer_squares;
        std::vector<std::uint32_t> live_units, live_ends;
        std::vector<unsigned char> live_values;
    };

    explicit Comparison(const MetricKernels& kernels) : kernels_(kernels) {}
    virtual ~Comparison() = default;

    const MetricKernels& kernels() const { return kernels_; }

    // tile  IN/OUT  packed rows and their bases; OUT: also the squared lengths that dot products need
    virtual void prepare(Tile& tile, Scratch& scratch) const = 0;

private:
    const MetricKernels& kernels_;
};

// Chooses the quickest comparison that is accurate enough.
//
// columns  IN/OUT  n_columns x n_units, packed; OUT: as the rows of a prepared tile expect them
std::unique_ptr<const Comparison> choose_comparison(Metric metric, const Packing& packing, std::size_t n_columns,
                                                    std::vector<unsigned char>& columns);

}  // namespace obp
