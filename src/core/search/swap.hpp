// FasterPAM's eager swap search over a block of dissimilarities: all n rows are candidates, the loss is summed over
// the m columns. The search sees the block tile by tile; its own state is the k x m distances of the medoids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "block.hpp"
#include "kernels/table.hpp"
#include "parallel.hpp"

namespace obp {

class SwapSearch {
public:
    // Candidates that are evaluated together. Chunks start at multiples of this, so that the tiles in which a block
    // comes change no result as long as they start there too.
    static constexpr std::size_t chunk_size = 256;

    // n_candidates  rows of the whole block
    // medoids       IN  k >= 1 candidate indices, distinct
    // medoid_rows   IN  k x m, their rows of the block
    // weights       IN  m
    // tolerance     a swap must lower the loss by more than this fraction of it
    // n_fixed       so many of the first medoids stay
    SwapSearch(std::size_t n_candidates, const std::int64_t* medoids, std::size_t k, const float* medoid_rows,
               std::size_t m, const double* weights, double tolerance, std::size_t n_fixed = 0);

    // Tries the candidates first, first + 1, ..., whose rows of the block these are, and makes every improving swap at
    // once. They are looked at in chunks: all of a chunk in parallel against the state as it is, then the improving
    // ones again, in order, against the state as it has become. Returns early once the search has converged.
    // gains  IN  what the best swap of each row would gain with the medoids as they are; nullptr if that is not known
    void sweep(const BlockView& rows, std::size_t first, int n_threads, const double* gains = nullptr);

    // The two halves of a sweep, for who has not all entries of the rows: what is not below the distance of a point to
    // its second nearest medoid may be anything above.
    struct Improving {
        std::size_t end;                       // of the chunk
        std::vector<std::int64_t> candidates;  // those of it that would improve the medoids as they are
    };
    // Finds the next chunk in which there are any, from row `begin` on. All chunks until then are counted as idle, and
    // this one, too, as long as no swap is made.
    Improving find_improving(const BlockView& rows, std::size_t first, std::size_t begin, int n_threads);
    // Tries candidates, in order, against the medoids as they have become; says whether there was a swap.
    // row_of  IN  the whole row of the i-th candidate
    bool try_candidates(const std::vector<std::int64_t>& candidates,
                        const std::function<const float*(std::size_t)>& row_of);

    // The best swap of a candidate with the medoids as they are; its gain is minus infinity if all of them are fixed.
    // row      IN  its row of the block
    // scratch      k numbers
    Swap evaluate(const float* row, double* scratch) const;

    // A full cycle of candidates has been seen without a swap.
    bool converged() const { return n_idle_ >= n_candidates_; }
    const std::vector<std::int64_t>& medoids() const { return medoids_; }
    double loss() const { return loss_; }
    const std::vector<std::int32_t>& nearest() const { return near_; }
    const std::vector<float>& second_distances() const { return d2_; }  // infinite if there is one medoid
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
    void sum_up();
    void check_invariants() const;

    std::size_t n_candidates_;
    std::vector<std::int64_t> medoids_;     // k
    std::vector<float> to_medoids_;         // m x k: distances to all medoids, together for each batch point
    std::vector<double> weights_;           // m
    std::vector<float> d1_, d2_;            // m: distance to the nearest and the second nearest medoid
    std::vector<std::int32_t> near_, sec_;  // m: their slots; of equal distances the lower slot is nearer
    std::vector<double> removal_gains_;     // k
    std::vector<bool> is_medoid_;           // n
    std::size_t n_fixed_;
    double tolerance_, loss_ = 0, least_gain_ = 0;
    std::size_t n_swaps_ = 0, n_idle_ = 0;
};

// Evaluates the candidates whose rows it sees.
class SwapEvaluator : public Viewer {
public:
    // gains, slots  OUT  of each row what its best swap would gain, and the slot whose medoid it would replace
    SwapEvaluator(const SwapSearch& search, std::size_t n_rows, double* gains, std::int32_t* slots, int n_threads)
        : Viewer(n_rows, search.m(), n_threads),
          search_(search),
          gains_(gains),
          slots_(slots),
          scratch_(static_cast<std::size_t>(n_threads) * search.k()) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

private:
    const SwapSearch& search_;
    double* gains_;
    std::int32_t* slots_;
    std::vector<double> scratch_;
};

}  // namespace obp
