// SilhouetteSearch improves medoids by swaps like SwapSearch, for another objective: the average medoid silhouette. The
// silhouette of a point is 1 - d1 / d2, where d1 and d2 are its distances to the nearest and the second nearest medoid;
// the loss is the weighted sum of d1 / d2. This is FasterMSC: with the third nearest medoid of each point known, all k
// swaps of a candidate are evaluated in one pass over its row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "block.hpp"
#include "kernels/table.hpp"
#include "search/swap.hpp"

namespace obp {

class SilhouetteSearch {
public:
    // Candidates are evaluated together in chunks of the same size as those of SwapSearch, with the same promise: tiles
    // that start at multiples of it give the same result, whatever their size.
    static constexpr std::size_t chunk_size = SwapSearch::chunk_size;

    // The arguments are those of SwapSearch, except that there are at least two medoids.
    SilhouetteSearch(std::size_t n_candidates, const std::int64_t* medoids, std::size_t k, const float* medoid_rows,
                     std::size_t m, const double* weights, double tolerance, std::size_t n_fixed = 0);

    // Tries some candidates, chunk by chunk. All candidates of a chunk are evaluated in parallel with the present
    // medoids; those that improve the loss are then evaluated again, in order, and swapped in if they still improve it.
    // Returns early if the search has converged.
    //
    // rows  IN  the rows of the candidates first, first + 1, ...
    void sweep(const BlockView& rows, std::size_t first, int n_threads);

    // Returns the best swap of a candidate with the present medoids. The gain is minus infinity if all medoids are
    // fixed.
    //
    // row      IN  the row of the candidate
    // scratch      memory for k numbers
    Swap evaluate(const float* row, double* scratch) const;

    // Whether all candidates have been tried since the last swap.
    bool converged() const { return n_idle_ >= n_candidates_; }
    const std::vector<std::int64_t>& medoids() const { return medoids_; }
    double loss() const { return loss_; }
    std::size_t n_swaps() const { return n_swaps_; }
    std::size_t n_candidates() const { return n_candidates_; }
    std::size_t m() const { return weights_.size(); }
    std::size_t k() const { return medoids_.size(); }
    const std::vector<double>& removal_changes() const { return removal_changes_; }

private:
    // The three nearest medoids of a point, the nearest first; the lower slot counts as nearer in a tie. If there are
    // only two medoids, the third is infinitely far.
    struct Nearest {
        std::array<float, 3> distances;
        std::array<std::int32_t, 3> slots;
    };

    // What the evaluation of a candidate reads of a point, in one line of the cache. Divisions are made once, here.
    struct alignas(64) Point {
        float d1, d2;            // distances to the two nearest medoids
        std::int32_t near, sec;  // slots of these two
        double weight;
        double loss;                       // d1 / d2
        double without_near, without_sec;  // the loss if one of the two is removed: d2 / d3 and d1 / d3
        double inverse_d1, inverse_d2;
    };

    void make_swap(std::size_t slot, std::size_t candidate, const float* row);
    void find_nearest(std::size_t j);
    void sum_up();

    std::size_t n_candidates_;
    std::vector<std::int64_t> medoids_;    // k
    std::vector<float> to_medoids_;        // m x k: distances of each batch point to all medoids
    std::vector<double> weights_;          // m
    std::vector<Nearest> nearest_;         // m
    std::vector<float> d3_;                // m: distance to the third nearest medoid
    std::vector<Point> points_;            // m
    std::vector<double> removal_changes_;  // k: change of the loss if a medoid is removed and nothing takes its place
    std::vector<bool> is_medoid_;          // n
    std::size_t n_fixed_;
    double tolerance_, loss_ = 0, least_gain_ = 0;
    std::size_t n_swaps_ = 0, n_idle_ = 0;
};

}  // namespace obp
