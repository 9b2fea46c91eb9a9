// A block of dissimilarities, and those who look at its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace obp {

// Some rows and columns of a block of dissimilarities in which a new row begins every `stride` entries.
struct BlockView {
    const float* entries;
    std::size_t n_rows, n_columns, stride;

    const float* row(std::size_t i) const { return entries + i * stride; }
};

// Who looks at rows of a block as soon as they are computed, in the thread that did that: they are in its cache still.
class Viewer {
public:
    // n_rows, n_columns  of the block; without n_columns, there may be any number of columns
    // n_threads          that many at most show rows at the same time
    Viewer(std::size_t n_rows, std::optional<std::size_t> n_columns, int n_threads)
        : n_rows_(n_rows), n_columns_(n_columns), n_threads_(n_threads) {}
    virtual ~Viewer() = default;

    // rows  IN  those from `first` on
    virtual void see(const BlockView& rows, std::size_t first, int thread) = 0;

    int n_threads() const { return n_threads_; }
    std::size_t n_rows() const { return n_rows_; }
    std::optional<std::size_t> n_columns() const { return n_columns_; }

private:
    std::size_t n_rows_;
    std::optional<std::size_t> n_columns_;
    int n_threads_;
};

// Shows a viewer all rows of a block that is there already.
void show(const BlockView& block, Viewer& viewer);

// Finds the nearest column of each row, and checks the entries.
class RowScanner : public Viewer {
public:
    // nearest    OUT  for each row the column of its smallest entry, the first of equal ones
    // distances  OUT  that entry
    RowScanner(std::size_t n_rows, std::int32_t* nearest, float* distances, int n_threads)
        : Viewer(n_rows, std::nullopt, n_threads),
          nearest_(nearest),
          distances_(distances),
          found_(static_cast<std::size_t>(n_threads)) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

    float largest() const;
    bool valid() const;  // every entry is finite and not negative

private:
    struct Found {
        float largest = 0;
        bool valid = true;
    };
    std::int32_t* nearest_;
    float* distances_;
    std::vector<Found> found_;  // by each thread
};

// Adds up the entries of each row.
class RowSummer : public Viewer {
public:
    // weights  IN   of the columns
    // caps     IN   what an entry of each column counts at most; null if there is no such bound
    // sums     OUT  the weighted sum of each row
    RowSummer(std::size_t n_rows, std::size_t n_columns, const double* weights, const float* caps, double* sums,
              int n_threads)
        : Viewer(n_rows, n_columns, n_threads), weights_(weights), caps_(caps), sums_(sums) {}

    void see(const BlockView& rows, std::size_t first, int thread) override;

private:
    const double* weights_;
    const float* caps_;
    double* sums_;
};

}  // namespace obp
