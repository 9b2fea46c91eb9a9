// The way from a row of the input to the units that the kernels compare.
//
//   row --> values (converted, or scaled to length 1) --> values in which the columns differ --> units
//
// Values in which all columns agree (the margins of images, categories that no column has) add the same amount to all
// dissimilarities of a row. They are therefore compared only once, with the first column; the result is the base of the
// row, at which the kernels start their sums.
#pragma once

#include <cstddef>
#include <vector>

namespace obp {

enum class Metric { manhattan, euclidean, sqeuclidean, chebyshev, cosine };
// The type of the values in the input.
enum class InputType { float32, float64, uint8 };
// The type that one step of a kernel compares; integers of a pair have 16 bits.
enum class Unit { float32, float64, eight_bytes, pair_of_integers };

class Packing {
public:
    // columns       IN  n_columns x n_features of type `input_type`
    // byte_divisor      if not zero, all values of columns and rows are byte / byte_divisor, and are compared as bytes
    Packing(Metric metric, InputType input_type, const void* columns, std::size_t n_columns, std::size_t n_features,
            double byte_divisor);

    // rows    IN   n_rows x n_features of type `input_type`
    // units   OUT  n_rows x n_units
    // bases   OUT  n_rows, of the type of the units
    // values       memory for `values_bytes` bytes
    void pack(const void* rows, std::size_t n_rows, void* units, void* bases, void* values) const;

    InputType input_type() const { return input_type_; }
    Unit unit() const { return unit_; }
    std::size_t n_features() const { return n_features_; }
    std::size_t row_bytes() const { return row_bytes_; }
    std::size_t n_units() const { return n_units_; }
    std::size_t unit_bytes() const { return unit_bytes_; }
    std::size_t values_bytes() const { return first_column_.size(); }

private:
    // Chooses Value as the type in which values are compared, and finds the values in which the columns differ.
    template <class From, class Value>
    void choose(const void* columns, std::size_t n_columns);
    template <class From, class Value>
    static void pack_row(const Packing& self, const void* row, void* units, void* base, void* values);
    template <class From>
    void choose_bytes(const void* columns, std::size_t n_columns);
    template <class Value, class Base>
    Base base_of(const Value* values) const;

    Metric metric_;
    InputType input_type_;
    Unit unit_;
    std::size_t n_features_, n_values_, n_units_, row_bytes_, unit_bytes_;
    double byte_divisor_;
    bool is_identity_;  // whether the units of a row are the row itself
    struct Run {
        std::size_t start, stop;
    };
    std::vector<Run> varying_, constant_;      // runs of values in which the columns differ, and in which they agree
    std::vector<unsigned char> first_column_;  // values of the first column
    void (*pack_row_)(const Packing&, const void*, void*, void*, void*);
};

// Says whether every value is byte / byte_divisor, rounded to T.
template <class T>
bool are_bytes(const T* values, std::size_t n, double byte_divisor);

// Arranges rows in panels of `width` rows: panels x n_units x width, so that a unit of all rows of a panel is one run
// of memory. The last panel is padded with zeros.
//
// rows  IN  n_rows x n_units
std::vector<unsigned char> to_panels(const void* rows, std::size_t n_rows, std::size_t n_units, std::size_t unit_bytes,
                                     std::size_t width);

}  // namespace obp
