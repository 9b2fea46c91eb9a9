// The block: an n x m matrix of dissimilarities, float32, with a row for each candidate and a column for each reference
// point. distances/ computes its rows, search/ reads them; this file is what both know of it.
//
// In:   a BlockView of some rows: part of a block in memory, or rows that a thread has just computed.
// Out:  what a Viewer finds in them: the nearest columns (RowScanner), weighted sums (RowSummer), the best swaps
//       (SwapEvaluator, in search/swap.hpp); or their entries, as columns of another block (RowTransposer).
//
// A Viewer looks at rows in the thread that has computed them, as soon as they are there, because they are still in the
// cache of that thread. show() calls it for a block that is in memory already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace obp {

// Some rows and columns of a block whose rows are `stride` entries apart.
struct BlockView {
    const float* entries;
    std::size_t n_rows, n_columns, stride;

    const float* row(std::size_t i) const { return entries + i * stride; }
};

// The base class of objects that look at all rows of a block, a few at a time.
class Viewer {
public:
    // n_rows, n_columns  size of the block; without n_columns, the block may have any number of columns
    // n_threads          number of threads that may call see() at the same time
    Viewer(std::size_t n_rows, std::optional<std::size_t> n_columns, int n_threads)
        : n_rows_(n_rows), n_columns_(n_columns), n_threads_(n_threads) {}
    virtual ~Viewer() = default;

    // rows    IN  the rows first, first + 1, ... of the block
    // thread      number of the calling thread, below n_threads
    virtual void see(const BlockView& rows, std::size_t first, int thread) = 0;

    int n_threads() const { return n_threads_; }
    std::size_t n_rows() const { return n_rows_; }
    std::optional<std::size_t> n_columns() const { return n_columns_; }

private:
    std::size_t n_rows_;
    std::optional<std::size_t> n_columns_;
    int n_threads_;
};

// Shows a viewer all rows of a block in memory.
void show(const BlockView& block, Viewer& viewer);

// Finds the nearest column of each row, and checks the entries.
class RowScanner : public Viewer {
public:
    // nearest    OUT  n_rows: column of the smallest entry, the first of equal ones
    // distances  OUT  n_rows: the smallest entry
    RowScanner(std::size_t n_rows, std::int32_t* nearest, float* distances, int n_threads)
        : Viewer(n_rows, std::nullopt, n_threads),
          nearest_(nearest),
          distances_(distances),
          found_(static_cast<std::size_t>(n_threads)) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

    float largest() const;
    bool valid() const;  // whether all entries are finite and not negative

private:
    // The findings of one thread.
    struct Found {
        float largest = 0;
        bool valid = true;
    };
    std::int32_t* nearest_;
    float* distances_;
    std::vector<Found> found_;  // n_threads
};

// Adds up the entries of each row, and checks them: a cap hides an entry that is not finite from the sum.
class RowSummer : public Viewer {
public:
    // weights  IN   n_columns
    // caps     IN   n_columns: an entry above the cap of its column counts as the cap; null if there are no caps
    // sums     OUT  n_rows: weighted sum of the entries of each row
    RowSummer(std::size_t n_rows, std::size_t n_columns, const double* weights, const float* caps, double* sums,
              int n_threads)
        : Viewer(n_rows, n_columns, n_threads),
          weights_(weights),
          caps_(caps),
          sums_(sums),
          are_valid_(static_cast<std::size_t>(n_threads), 1) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

    bool valid() const;  // whether all entries are finite and not negative

private:
    const double* weights_;
    const float* caps_;
    double* sums_;
    std::vector<char> are_valid_;  // n_threads: whether all entries that a thread has seen are valid
};

// Writes the rows to the columns of another block, and checks the entries.
class RowTransposer : public Viewer {
public:
    // transposed  OUT  n_columns x n_rows, rows `stride` entries apart
    RowTransposer(std::size_t n_rows, std::size_t n_columns, float* transposed, std::size_t stride, int n_threads)
        : Viewer(n_rows, n_columns, n_threads),
          transposed_(transposed),
          stride_(stride),
          are_valid_(static_cast<std::size_t>(n_threads), 1) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

    bool valid() const;  // whether all entries are finite and not negative

private:
    float* transposed_;
    std::size_t stride_;
    std::vector<char> are_valid_;  // n_threads: whether all entries that a thread has seen are valid
};

}  // namespace obp
