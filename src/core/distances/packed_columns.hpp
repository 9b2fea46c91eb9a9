// Dissimilarities of many rows to a fixed set of columns. The columns are packed once into panels, the rows tile
// by tile; a tile is filled by the kernels of the SIMD level in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "distances/packing.hpp"
#include "kernels/table.hpp"

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
    static constexpr std::size_t any = 0;

    // n_rows, n_columns  of the block
    // n_threads          that many at most show rows at the same time
    Viewer(std::size_t n_rows, std::size_t n_columns, int n_threads)
        : n_rows_(n_rows), n_columns_(n_columns), n_threads_(n_threads) {}
    virtual ~Viewer() = default;

    // rows  IN  those from `first` on
    virtual void see(const BlockView& rows, std::size_t first, int thread) = 0;

    int n_threads() const { return n_threads_; }
    bool expects(std::size_t n_rows, std::size_t n_columns) const {
        return n_rows == n_rows_ && (n_columns_ == any || n_columns == n_columns_);
    }

private:
    std::size_t n_rows_, n_columns_;
    int n_threads_;
};

// Shows a viewer all rows of a block that is there already.
void show(const BlockView& block, Viewer& viewer);

class PackedColumns {
public:
    // points  IN  n_columns x n_features of type `source`, row after row
    // steps   if not zero, all values of points and rows are byte / steps
    PackedColumns(Metric metric, Source source, const void* points, std::size_t n_columns, std::size_t n_features,
                  double steps = 0);

    // rows  IN   n_rows x n_features of the columns' type
    // out   OUT  n_rows x n_columns, a new row every out_stride entries
    template <class Out>
    void fill(const void* rows, std::size_t n_rows, Out* out, std::size_t out_stride, int n_threads) const;
    void fill(const void* rows, std::size_t n_rows, float* out, std::size_t out_stride, Viewer& viewer) const;

    Source source() const { return packing_.source(); }
    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_features() const { return packing_.n_features(); }

private:
    // Buffers of one thread, for one tile of rows.
    struct Scratch {
        std::vector<unsigned char> units, bases;
        std::vector<float> centred, row_squares;
        std::vector<std::uint32_t> pair_squares;
        std::vector<std::uint32_t> live_units, live_ends;
        std::vector<unsigned char> live_values;
    };

    enum class Way { differences, float_products, pair_products };

    Way choose_way(Metric metric) const;
    void centre_columns(std::vector<unsigned char>& units);
    template <class Out, class See>
    void fill_tiles(const void* rows, std::size_t n_rows, std::size_t per_tile, Out* out, std::size_t out_stride,
                    int n_threads, const See& see) const;
    std::size_t rows_per_tile() const;
    void prepare_products(Tile& tile, Scratch& scratch) const;

    Packing packing_;
    std::size_t n_columns_;
    const Kernels* level_;
    const MetricKernels* kernels_;
    Finish finish_;
    double scale_;
    std::vector<unsigned char> panels_;

    // Squared Euclidean distances go by dot products: those of bytes exactly, those of long float rows after a centre
    // has been subtracted.
    Way way_;
    std::vector<float> columns_;               // n_columns x n_units, not centred
    std::vector<float> centre_;                // n_units
    std::vector<float> column_squares_;        // n_columns
    std::vector<std::uint32_t> pair_squares_;  // n_columns
};

// Finds the nearest column of each row, and checks the entries.
class RowScanner : public Viewer {
public:
    // nearest    OUT  for each row the column of its smallest entry, the first of equal ones
    // distances  OUT  that entry
    RowScanner(std::size_t n_rows, std::int32_t* nearest, float* distances, int n_threads)
        : Viewer(n_rows, any, n_threads),
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
