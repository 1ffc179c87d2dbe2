// Reverse-mode differentiation in double precision, slow and obvious: what networks are held
// against.
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace rudder::testing {

/// A matrix and what the loss changes with it.
struct Node {
    std::size_t rows;
    std::size_t columns;
    std::vector<double> value;
    std::vector<double> slope;
    std::function<void()> back = [] {};
    Node(std::size_t r, std::size_t c)
        : rows(r), columns(c), value(r * c, 0.0), slope(r * c, 0.0) {}
};
using Var = Node*;
using Index = std::vector<std::size_t>;

/// Keeps nodes in the order they were made in, and goes back over them.
class Graph {
public:
    Var make(std::size_t rows, std::size_t columns) { return &nodes_.emplace_back(rows, columns); }
    Var input(std::span<const float> values, std::size_t rows, std::size_t columns) {
        Var out = make(rows, columns);
        out->value.assign(values.begin(), values.end());
        return out;
    }
    void backward() {
        for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
            node->back();
    }

    /// a times the transpose of b.
    Var product(Var a, Var b) {
        Var out = make(a->rows, b->rows);
        each(out, [=](std::size_t r, std::size_t c, std::size_t i) {
            for (std::size_t k = 0; k < a->columns; ++k)
                out->value[i] += a->value[r * a->columns + k] * b->value[c * b->columns + k];
        });
        out->back = [=] {
            each(out, [=](std::size_t r, std::size_t c, std::size_t i) {
                for (std::size_t k = 0; k < a->columns; ++k) {
                    a->slope[r * a->columns + k] += out->slope[i] * b->value[c * b->columns + k];
                    b->slope[c * b->columns + k] += out->slope[i] * a->value[r * a->columns + k];
                }
            });
        };
        return out;
    }
    /// Element by element; b may have one row, or one column per head (`b` columns divide those of
    /// a), which then serve all.
    Var times(Var a, Var b) {
        return pairwise(
            a, b, [](double x, double y) { return x * y; }, [](double, double y) { return y; },
            [](double x, double) { return x; });
    }
    Var plus(Var a, Var b) {
        return pairwise(
            a, b, [](double x, double y) { return x + y; }, [](double, double) { return 1.0; },
            [](double, double) { return 1.0; });
    }
    Var over(Var a, Var b) {
        return pairwise(
            a, b, [](double x, double y) { return x / y; }, [](double, double y) { return 1 / y; },
            [](double x, double y) { return -x / (y * y); });
    }
    /// f of each element; its slope is a function of x and f(x).
    Var map(Var a, double (*f)(double), double (*slope)(double, double)) {
        Var out = make(a->rows, a->columns);
        each(out, [=](std::size_t, std::size_t, std::size_t i) { out->value[i] = f(a->value[i]); });
        out->back = [=] {
            each(out, [=](std::size_t, std::size_t, std::size_t i) {
                a->slope[i] += out->slope[i] * slope(a->value[i], out->value[i]);
            });
        };
        return out;
    }
    Var scaled(Var a, double factor) {
        Var by = make(1, 1);
        by->value[0] = factor;
        return times(a, by);
    }
    /// Row i of the result is row from[i] of a.
    Var gather(Var a, Index from) {
        Var out = make(from.size(), a->columns);
        each(out, [&](std::size_t r, std::size_t c, std::size_t i) {
            out->value[i] = a->value[from[r] * a->columns + c];
        });
        out->back = [out, a, from = std::move(from)] {
            each(out, [&](std::size_t r, std::size_t c, std::size_t i) {
                a->slope[from[r] * a->columns + c] += out->slope[i];
            });
        };
        return out;
    }
    Var first(Var a, std::size_t rows) {
        Index from(rows);
        for (std::size_t r = 0; r < rows; ++r)
            from[r] = r;
        return gather(a, std::move(from));
    }
    /// Row to[i] of the result is the sum of such rows i of a.
    Var scatter(Var a, Index to, std::size_t rows) {
        Var out = make(rows, a->columns);
        each(a, [&](std::size_t r, std::size_t c, std::size_t i) {
            out->value[to[r] * a->columns + c] += a->value[i];
        });
        out->back = [out, a, to = std::move(to)] {
            each(a, [&](std::size_t r, std::size_t c, std::size_t i) {
                a->slope[i] += out->slope[to[r] * a->columns + c];
            });
        };
        return out;
    }
    /// Sums over stretches of columns: `groups` columns remain.
    Var group_sums(Var a, std::size_t groups) {
        Var out = make(a->rows, groups);
        const std::size_t size = a->columns / groups;
        each(a, [=](std::size_t r, std::size_t c, std::size_t i) {
            out->value[r * groups + c / size] += a->value[i];
        });
        out->back = [=] {
            each(a, [=](std::size_t r, std::size_t c, std::size_t i) {
                a->slope[i] += out->slope[r * groups + c / size];
            });
        };
        return out;
    }
    /// Columns of all stretches added up: those of one remain.
    Var stretch_sums(Var a, std::size_t size) {
        Var out = make(a->rows, size);
        each(a, [=](std::size_t r, std::size_t c, std::size_t i) {
            out->value[r * size + c % size] += a->value[i];
        });
        out->back = [=] {
            each(a, [=](std::size_t r, std::size_t c, std::size_t i) {
                a->slope[i] += out->slope[r * size + c % size];
            });
        };
        return out;
    }
    Var column_sums(Var a) { return scatter(a, Index(a->rows, 0), 1); }

private:
    template <class Body>
    static void each(Var a, const Body& body) {
        for (std::size_t r = 0; r < a->rows; ++r)
            for (std::size_t c = 0; c < a->columns; ++c)
                body(r, c, r * a->columns + c);
    }
    template <class F, class ByA, class ByB>
    Var pairwise(Var a, Var b, F f, ByA by_a, ByB by_b) {
        Var out = make(a->rows, a->columns);
        const std::size_t size = a->columns / b->columns;
        const auto other = [=](std::size_t r, std::size_t c) {
            return (b->rows == 1 ? 0 : r) * b->columns + c / size;
        };
        each(out, [=](std::size_t r, std::size_t c, std::size_t i) {
            out->value[i] = f(a->value[i], b->value[other(r, c)]);
        });
        out->back = [=] {
            each(out, [=](std::size_t r, std::size_t c, std::size_t i) {
                const double x = a->value[i];
                const double y = b->value[other(r, c)];
                a->slope[i] += out->slope[i] * by_a(x, y);
                b->slope[other(r, c)] += out->slope[i] * by_b(x, y);
            });
        };
        return out;
    }

    std::deque<Node> nodes_;  ///< whose addresses stay
};

}  // namespace rudder::testing
