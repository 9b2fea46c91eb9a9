// The arms of BanditPAM: for BUILD, the gain of adding each candidate to the medoids; for SWAP, the gains of swapping
// each candidate with each medoid. Gains are estimated on reference points, the columns of a block. All k swaps of a
// candidate share its row of the block.
//
// In:   rows of a block, some columns at a time, and the state of the medoids at these columns.
// Out:  for each candidate the moments of its gains, added up over the columns; then bounds of its best gain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block.hpp"
#include "kernels/table.hpp"

namespace obp {

// Some candidates, each given by its row of a block.
struct Candidates {
    BlockView block;
    std::size_t n;
    const std::int64_t* rows;  // n
};

// moments  IN/OUT  n: moments of the gain of adding each candidate
void add_build_moments(const Candidates& candidates, const BuildView& state, Moments* moments, int n_threads);

// moments  IN/OUT  n x (k + 1): moments of the swaps of each candidate, as in Kernels::add_swap_moments
void add_swap_moments(const Candidates& candidates, const SwapView& state, Moments* moments, int n_threads);

// The arms whose moments have been added up over all reference points that are used.
struct Arms {
    std::size_t n, k, n_fixed;
    const Moments* moments;   // n x (k + 1)
    const Moments* removals;  // k: moments of the gains of removing each medoid; see kernels/rows.hpp
};

// Bounds the best mean gain of each candidate over all its arms: its swaps with medoids that are not fixed, or the only
// arm if k is 0, as in BUILD. The mean gain of an arm lies within width times the standard deviation of its estimate.
//
// n_points          number of reference points
// highest      OUT  n: the highest upper bound of an arm
// surest       OUT  n: the highest lower bound of an arm
void bound_gains(const Arms& arms, double n_points, double width, double* highest, double* surest, int n_threads);

}  // namespace obp
