// search/ improves medoids by swaps. The rows of a block are the n candidates, its columns are the m batch points over
// which the loss is summed. SwapSearch is the eager search of FasterPAM: it makes every improving swap as soon as it is
// found. silhouette.hpp does the same for the medoid silhouette. reduce.hpp shrinks rows to the entries that a search
// needs, for blocks that are too large for memory. arms.hpp estimates gains on samples, for BanditPAM.
//
// In:   k medoids with their rows of the block, and the weights of the batch points; then the rows of all candidates,
//       tile by tile, until the search has converged.
// Out:  the medoids, their loss, and the nearest medoids of each batch point.
//
// The search does not hold the block. Its state is the m x k distances between batch points and medoids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "block.hpp"
#include "kernels/table.hpp"
#include "parallel.hpp"

namespace obp {

// Returns a distance, or infinity for NaN: so every point has a nearest medoid, whatever the entries of a block are.
inline float known_distance(float d) { return d == d ? d : std::numeric_limits<float>::infinity(); }

class SwapSearch {
public:
    // The number of candidates that are evaluated together. A chunk starts at a multiple of this number; a caller who
    // lets tiles start at such multiples gets the same result for every size of tiles.
    static constexpr std::size_t chunk_size = 256;

    // n_candidates      number of rows of the whole block
    // medoids       IN  k >= 1 distinct candidates
    // medoid_rows   IN  k x m, the rows of the medoids
    // weights       IN  m
    // tolerance         a swap must lower the loss by more than this fraction of the loss
    // n_fixed           the first n_fixed medoids are never replaced
    SwapSearch(std::size_t n_candidates, const std::int64_t* medoids, std::size_t k, const float* medoid_rows,
               std::size_t m, const double* weights, double tolerance, std::size_t n_fixed = 0);

    // Tries some candidates, chunk by chunk. All candidates of a chunk are evaluated in parallel with the present
    // medoids; those that improve the loss are then evaluated again, in order, and swapped in if they still improve it.
    // Returns early if the search has converged.
    //
    // rows   IN  the rows of the candidates first, first + 1, ...
    // gains  IN  gain of the best swap of each candidate with the present medoids; null if it is not known
    void sweep(const BlockView& rows, std::size_t first, int n_threads, const double* gains = nullptr);

    // A sweep in two halves, find_improving and try_candidates, for callers that hold reduced rows.
    struct Improving {
        std::size_t end;                       // the first row after the chunk
        std::vector<std::int64_t> candidates;  // candidates of the chunk that improve the loss with the present medoids
    };
    // Finds the next chunk with an improving candidate, from row `begin` on. All rows up to the end of the chunk count
    // as idle, until try_candidates makes a swap.
    //
    // rows  IN  reduced rows will do: an entry at or above the distance of its point to the second nearest medoid may
    //           have any such value
    Improving find_improving(const BlockView& rows, std::size_t first, std::size_t begin, int n_threads);
    // Evaluates candidates in order, each with the medoids of that moment, and makes every improving swap. Says whether
    // there was one.
    //
    // row_of  IN  returns the whole row of the i-th candidate
    bool try_candidates(const std::vector<std::int64_t>& candidates,
                        const std::function<const float*(std::size_t)>& row_of);

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
    const std::vector<std::int32_t>& nearest() const { return near_; }
    const std::vector<float>& second_distances() const { return d2_; }  // infinite if there is only one medoid
    std::size_t n_swaps() const { return n_swaps_; }
    const std::vector<float>& nearest_distances() const { return d1_; }
    std::size_t m() const { return weights_.size(); }
    const std::vector<float>& medoid_distances() const { return to_medoids_; }
    std::size_t k() const { return medoids_.size(); }
    std::size_t n_candidates() const { return n_candidates_; }

private:
    bool improves(double gain) const { return gain > least_gain_; }
    Improving find_improving(const BlockView& rows, std::size_t first, std::size_t begin, Team& team);
    Improving next_improving(const double* gains, std::size_t first, std::size_t begin, std::size_t end);
    std::size_t end_of_chunk(std::size_t candidate) const {
        return std::min(n_candidates_, candidate / chunk_size * chunk_size + chunk_size);
    }
    void make_swap(std::size_t slot, std::size_t candidate, const float* row);
    void find_nearest(std::size_t j);
    void insert_medoid(std::size_t j, std::int32_t slot, float distance);
    void insert_last(std::size_t start, std::size_t stop, std::int32_t slot, const float* row);
    void sum_up();
    double exact_gain(const float* row, std::int32_t slot) const;
    void check_invariants() const;

    std::size_t n_candidates_;
    std::vector<std::int64_t> medoids_;     // k
    std::vector<float> to_medoids_;         // m x k: distances of each batch point to all medoids
    std::vector<double> weights_;           // m
    std::vector<float> d1_, d2_;            // m: distances to the nearest and the second nearest medoid
    std::vector<std::int32_t> near_, sec_;  // m: slots of these two medoids; the lower slot counts as nearer in a tie
    std::vector<double> removal_gains_;     // k: gain of removing each medoid, see SwapView
    std::vector<bool> is_medoid_;           // n
    std::size_t n_fixed_;
    double tolerance_, loss_ = 0, least_gain_ = 0;
    double uncertainty_ = 0;  // gains up to this size are computed again, term by term; not used if k is 1
    std::size_t n_swaps_ = 0, n_idle_ = 0;
};

// Evaluates the candidates whose rows it sees. The medoids must not change meanwhile.
class SwapEvaluator : public Viewer {
public:
    // gains  OUT  n_rows: gain of the best swap of each candidate
    // slots  OUT  n_rows: slot of the medoid that this swap replaces
    SwapEvaluator(const SwapSearch& search, std::size_t n_rows, double* gains, std::int32_t* slots, int n_threads)
        : Viewer(n_rows, search.m(), n_threads),
          search_(search),
          gains_(gains),
          slots_(slots),
          scratch_(static_cast<std::size_t>(n_threads) * search.k()),
          are_valid_(static_cast<std::size_t>(n_threads), 1) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

    bool valid() const;  // whether all entries are finite and not negative

private:
    const SwapSearch& search_;
    double* gains_;
    std::int32_t* slots_;
    std::vector<double> scratch_;
    std::vector<char> are_valid_;  // n_threads: whether all entries that a thread has seen are valid
};

}  // namespace obp
