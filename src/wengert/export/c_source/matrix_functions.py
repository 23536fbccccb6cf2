"""Static functions of C on matrices and rows, as loops: factorizations, systems, and orders.

Matrices are stored by rows. Functions that can fail return the number of what failed.
"""

from __future__ import annotations

from wengert.compiler.forms import failures
from wengert.compiler.program.program import FIRST_FAILURE

OUT_OF_BOUNDS, SINGULAR, NOT_POSITIVE = [
    FIRST_FAILURE + failure.bit for failure in (failures.OUT_OF_BOUNDS, failures.SINGULAR, failures.NOT_POSITIVE)
]
"""What functions return if they fail, as those of native code do."""

MATRICES = f"""
/* The lower triangle L with L L^T = A, for a symmetric, positive definite matrix A of order n: by columns. */
static int factor_cholesky(int n, const double *a, double *l)
{{
    for (int j = 0; j < n; ++j) {{
        double pivot = a[j * n + j];
        for (int k = 0; k < j; ++k) {{
            pivot -= l[j * n + k] * l[j * n + k];
        }}
        if (!(pivot > 0.0)) {{
            return {NOT_POSITIVE};
        }}
        pivot = sqrt(pivot);
        for (int i = 0; i < j; ++i) {{
            l[i * n + j] = 0.0;
        }}
        l[j * n + j] = pivot;
        for (int i = j + 1; i < n; ++i) {{
            double sum = a[i * n + j];
            for (int k = 0; k < j; ++k) {{
                sum -= l[i * n + k] * l[j * n + k];
            }}
            l[i * n + j] = sum / pivot;
        }}
    }}
    return 0;
}}

/* The factors of a matrix of order n by Gaussian elimination with row exchanges, in place; pivots[j] is the row that
 * was exchanged with row j. A zero pivot is left as it is. */
static void factor_rows(int n, double *a, double *pivots)
{{
    for (int j = 0; j < n; ++j) {{
        int pivot = j;
        for (int i = j + 1; i < n; ++i) {{
            if (fabs(a[i * n + j]) > fabs(a[pivot * n + j])) {{
                pivot = i;
            }}
        }}
        pivots[j] = (double)pivot;
        if (a[pivot * n + j] == 0.0) {{
            continue;
        }}
        for (int k = 0; k < n && pivot != j; ++k) {{
            const double exchanged = a[j * n + k];
            a[j * n + k] = a[pivot * n + k];
            a[pivot * n + k] = exchanged;
        }}
        for (int i = j + 1; i < n; ++i) {{
            const double factor = a[i * n + j] / a[j * n + j];
            a[i * n + j] = factor;
            for (int k = j + 1; k < n; ++k) {{
                a[i * n + k] -= factor * a[j * n + k];
            }}
        }}
    }}
}}

/* The transposed factors of the transpose of a matrix of order n, with a row of pivots behind them. */
static void factor_transposed(int n, const double *a, double *packed, double *work)
{{
    for (int i = 0; i < n; ++i) {{
        for (int j = 0; j < n; ++j) {{
            work[j * n + i] = a[i * n + j];
        }}
    }}
    factor_rows(n, work, packed + n * n);
    for (int i = 0; i < n; ++i) {{
        for (int j = 0; j < n; ++j) {{
            packed[j * n + i] = work[i * n + j];
        }}
    }}
}}

/* x with A x = b, for a matrix A of order n and m right-hand sides; `work` has n (n + 1) elements. */
static int solve_system(int n, int m, const double *a, const double *b, double *x, double *work)
{{
    double *const factors = work;
    double *const pivots = work + n * n;
    for (int i = 0; i < n * n; ++i) {{
        factors[i] = a[i];
    }}
    factor_rows(n, factors, pivots);
    for (int i = 0; i < n; ++i) {{
        if (factors[i * n + i] == 0.0) {{
            return {SINGULAR};
        }}
    }}
    for (int i = 0; i < n * m; ++i) {{
        x[i] = b[i];
    }}
    for (int i = 0; i < n; ++i) {{
        const int pivot = (int)pivots[i];
        for (int c = 0; c < m && pivot != i; ++c) {{
            const double exchanged = x[i * m + c];
            x[i * m + c] = x[pivot * m + c];
            x[pivot * m + c] = exchanged;
        }}
    }}
    for (int i = 0; i < n; ++i) {{
        for (int k = 0; k < i; ++k) {{
            for (int c = 0; c < m; ++c) {{
                x[i * m + c] -= factors[i * n + k] * x[k * m + c];
            }}
        }}
    }}
    for (int i = n - 1; i >= 0; --i) {{
        for (int c = 0; c < m; ++c) {{
            for (int k = i + 1; k < n; ++k) {{
                x[i * m + c] -= factors[i * n + k] * x[k * m + c];
            }}
            x[i * m + c] /= factors[i * n + i];
        }}
    }}
    return 0;
}}

/* x with T x = b, for one triangle T of a matrix of order n, and m right-hand sides. */
static int solve_triangle(
    int n, int m, int is_lower, int has_unit_diagonal, const double *a, const double *b, double *x)
{{
    for (int row = 0; row < n; ++row) {{
        const int i = is_lower ? row : n - 1 - row;
        const int first = is_lower ? 0 : i + 1;
        const int last = is_lower ? i : n;
        if (!has_unit_diagonal && a[i * n + i] == 0.0) {{
            return {SINGULAR};
        }}
        for (int c = 0; c < m; ++c) {{
            double sum = b[i * m + c];
            for (int k = first; k < last; ++k) {{
                sum -= a[i * n + k] * x[k * m + c];
            }}
            x[i * m + c] = has_unit_diagonal ? sum : sum / a[i * n + i];
        }}
    }}
    return 0;
}}

/* The cofactors of a matrix of order n: determinants of the matrix without one row and one column, with signs. It is
 * right for singular matrices, too; `work` has n^2 elements. */
static void find_cofactors(int n, const double *a, double *cofactors, double *work)
{{
    const int order = n - 1;
    double *const pivots = work + order * order;
    for (int row = 0; row < n; ++row) {{
        for (int column = 0; column < n; ++column) {{
            for (int i = 0; i < order; ++i) {{
                for (int j = 0; j < order; ++j) {{
                    work[i * order + j] = a[(i + (i >= row)) * n + j + (j >= column)];
                }}
            }}
            factor_rows(order, work, pivots);
            double product = ((row + column) % 2 == 0) ? 1.0 : -1.0;
            for (int i = 0; i < order; ++i) {{
                product *= ((int)pivots[i] == i) ? work[i * order + i] : -work[i * order + i];
            }}
            cofactors[row * n + column] = product;
        }}
    }}
}}

/* The convolution of n numbers with m numbers, of n + m - 1 numbers. */
static void convolve_full(int n, int m, const double *x, const double *y, double *out)
{{
    for (int j = 0; j < n + m - 1; ++j) {{
        double sum = 0.0;
        for (int k = 0; k < m; ++k) {{
            if (j - k >= 0 && j - k < n) {{
                sum += x[j - k] * y[k];
            }}
        }}
        out[j] = sum;
    }}
}}

/* The convolution of n numbers with m numbers where they overlap completely, of n - m + 1 numbers. */
static void convolve_valid(int n, int m, const double *x, const double *y, double *out)
{{
    for (int j = 0; j < n - m + 1; ++j) {{
        double sum = 0.0;
        for (int k = 0; k < m; ++k) {{
            sum += x[j + m - 1 - k] * y[k];
        }}
        out[j] = sum;
    }}
}}

/* Whether x comes before y: NaNs are last. */
static int is_before(double x, double y)
{{
    return x < y || (isnan(y) && !isnan(x));
}}

/* The order that sorts n numbers with a stride between them, equal ones as they are: by merging sorted runs. `work` has
 * n elements. */
static void find_order(int64_t n, int64_t stride, const double *x, int64_t *order, int64_t *work)
{{
    for (int64_t i = 0; i < n; ++i) {{
        order[i * stride] = i;
    }}
    for (int64_t width = 1; width < n; width *= 2) {{
        for (int64_t start = 0; start < n; start += 2 * width) {{
            const int64_t middle = (start + width < n) ? start + width : n;
            const int64_t end = (start + 2 * width < n) ? start + 2 * width : n;
            int64_t left = start;
            int64_t right = middle;
            for (int64_t k = start; k < end; ++k) {{
                const int takes_right = left >= middle || (right < end
                    && is_before(x[order[right * stride] * stride], x[order[left * stride] * stride]));
                work[k] = takes_right ? order[right++ * stride] : order[left++ * stride];
            }}
        }}
        for (int64_t i = 0; i < n; ++i) {{
            order[i * stride] = work[i];
        }}
    }}
}}

/* The number of elements of n sorted ones that are less than y, or with `counts_equal` not greater. */
static int64_t count_before(int64_t n, const double *x, double y, int counts_equal)
{{
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {{
        const int64_t middle = low + (high - low) / 2;
        const int is_left = counts_equal ? !is_before(y, x[middle]) : is_before(x[middle], y);
        if (is_left) {{
            low = middle + 1;
        }} else {{
            high = middle;
        }}
    }}
    return low;
}}
"""
