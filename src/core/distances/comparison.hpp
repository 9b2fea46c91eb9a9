// The ways to compare the units of rows and columns. Every metric can be computed from differences; squared Euclidean
// distances are computed from dot products where possible, because
//
//   |a - b|^2 = |a|^2 + |b|^2 - 2 ab
//
// takes fewer operations. It needs the squared lengths of rows and columns: a Comparison holds those of the columns,
// and adds those of the rows to each tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "distances/packing.hpp"
#include "kernels/table.hpp"

namespace obp {

class Comparison {
public:
    // Buffers of one thread, for one tile of rows.
    struct Scratch {
        std::vector<float> centred, float_squares;
        std::vector<std::uint32_t> integer_squares;
        std::vector<std::uint32_t> live_units, live_ends;
        std::vector<unsigned char> interleaved;
    };

    explicit Comparison(const MetricKernels& kernels) : kernels_(kernels) {}
    virtual ~Comparison() = default;

    const MetricKernels& kernels() const { return kernels_; }

    // Allocates the memory that `prepare` needs for tiles of n_rows rows. The thread that starts the others calls it,
    // because an exception in a new thread ends the process if there is no memory left for the exception.
    virtual void reserve(Scratch& scratch, std::size_t n_rows, std::size_t n_units) const = 0;
    // Prepares a tile of packed rows for the kernels.
    //
    // tile     IN/OUT  for dot products, rows may be centred, and bases become part of the squared lengths
    // scratch  OUT     memory that the tile then points to
    virtual void prepare(Tile& tile, Scratch& scratch) const = 0;

private:
    const MetricKernels& kernels_;
};

// Chooses the quickest comparison for a metric and a type of units.
//
// columns  IN/OUT  n_columns x n_units, packed; they are centred if the comparison centres the rows of its tiles
std::unique_ptr<const Comparison> choose_comparison(Metric metric, const Packing& packing, std::size_t n_columns,
                                                    std::vector<unsigned char>& columns);

}  // namespace obp
