// Dissimilarities of sparse rows to a fixed set of sparse columns, without making either dense: the columns are kept
// by feature, so that a row meets only the values that share a feature with it.
//
//   d(a, b) = size(a) + size(b) - sum over shared features of overlap(a, b)
//
// with sizes |a|^2, |a|_1 or the number of values that are not zero. All sums are in double; where they cancel, for
// rows that are nearly equal, the difference is computed feature by feature instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace obp {

enum class SparseMetric { manhattan, euclidean, sqeuclidean, cosine, jaccard };

// Rows of values that are not zero: the CSR format. The features of a row are distinct and ascend.
struct SparseRows {
    std::size_t n_rows;
    const std::int64_t* starts;    // IN  n_rows + 1: where each row begins, and the end
    const std::int32_t* features;  // IN
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
    struct Entry {
        std::int32_t column;
        double value;
    };
    // One row, with values as they are compared.
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
    std::vector<std::int64_t> starts_;  // the points themselves, as rows
    std::vector<std::int32_t> features_;
    std::vector<double> values_;
    std::vector<double> sizes_;            // n_columns
    std::vector<std::size_t> by_feature_;  // n_features + 1: where the entries of each feature begin
    std::vector<Entry> entries_;
};

}  // namespace obp
