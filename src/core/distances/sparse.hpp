// Dissimilarities of many sparse rows to a fixed set of sparse columns. Neither is made dense: the values of the
// columns are stored feature by feature, so that a row is compared only with columns that share a feature with it.
//
//   d(a, b) = size(a) + size(b) - sum over shared features of overlap(a, b)
//
// The size is |a|^2, |a|_1 or the number of values that are not zero, depending on the metric. All sums are in double.
// The difference of nearly equal rows is summed feature by feature instead, because digits cancel in the formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace obp {

enum class SparseMetric { manhattan, euclidean, sqeuclidean, cosine, jaccard };

// Sparse rows in CSR format: row i has the values starts[i], ..., starts[i + 1] - 1, and all others are zero. The
// features of a row are distinct and ascend.
struct SparseRows {
    std::size_t n_rows;
    const std::int64_t* starts;    // IN  n_rows + 1
    const std::int32_t* features;  // IN  the feature of each value
    const double* values;          // IN
};

class SparseColumns {
public:
    SparseColumns(SparseMetric metric, const SparseRows& points, std::size_t n_features);

    // out  OUT  n_rows x n_columns, the rows out_stride entries apart
    template <class Out>
    void fill(const SparseRows& rows, Out* out, std::size_t out_stride, int n_threads) const;

    std::size_t n_columns() const { return sizes_.size(); }
    std::size_t n_features() const { return by_feature_.size() - 1; }

private:
    // A value of a column. The values of all columns in the same feature are stored together.
    struct Entry {
        std::int32_t column;
        double value;
    };
    // One row. Its values are scaled to length 1 if the metric is cosine.
    struct Row {
        std::size_t n;
        const std::int32_t* features;
        const double* values;
    };

    Row column(std::size_t index) const;
    template <class Metric, class Out>
    void fill_row(const Row& row, double* sums, Out* out) const;
    template <class Metric, class Out>
    void fill_rows(const SparseRows& rows, Out* out, std::size_t out_stride, int n_threads) const;

    SparseMetric metric_;
    std::vector<std::int64_t> starts_;  // The columns in CSR format: starts, features and values.
    std::vector<std::int32_t> features_;
    std::vector<double> values_;
    std::vector<double> sizes_;            // n_columns
    std::vector<std::size_t> by_feature_;  // n_features + 1: where the entries of each feature begin
    std::vector<Entry> entries_;           // all values of the columns, feature by feature
};

}  // namespace obp
