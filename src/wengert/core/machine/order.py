"""Numbers that say in which order others are added: the only ones that may change the last digits of a result.

They are the same on every machine and for every number of threads, so that results are, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from wengert.core.machine.order_costs import CostFields
from wengert.core.machine.order_devices import DeviceOrderFields
from wengert.core.machine.order_routines import RoutineOrderFields


@dataclass(init=False, repr=False, eq=False)
class OrderFields(CostFields, DeviceOrderFields, RoutineOrderFields):
    """The order of additions."""

    sum_pieces: int = 32
    """Pieces of a long sum, each added up by itself; threads share them. More would make the last step, which one
    thread does, longer; 32 divide well among up to 16 threads.
    """
    sum_pieces_below_results: int = 16
    """Results of a sum below which it is cut into pieces; threads share the results of others."""
    sum_pieces_from_operations: int = 180_000
    """Scalar operations from which a sum to few elements is added up in pieces: two threads share no smaller one."""
    scatter_pieces_from_operations: int = 400_000
    """Scalar operations from which additions at computed indices of few elements are made in pieces."""
    scatter_terms_per_target: int = 2
    """Additions for each element of all pieces from which on a scatter is cut: fewer cost less than adding pieces."""
    operations_of_scatter: int = 3
    """Scalar operations that take as long as writing or adding an element at a computed index; with them, a loop
    reaches the operations from which its sums and additions are cut into pieces.
    """
    sum_accumulators: int = 4
    """Independent accumulators of a sum with a short body: an addition takes four cycles until the next can begin."""
    short_body_operations: int = 8
    """Scalar operations for each element up to which a body is short: longer ones hide the wait for an addition."""
    min_elements_of_free_layout: int = 1 << 10
    """Elements of the smallest value whose axes may be in another order in memory: smaller ones are in a near cache."""
    max_bytes_of_permuted_constant: int = 1 << 20
    """Bytes of a constant whose axes may be in another order: it is copied, and data of the user may be large."""
    elements_of_vector_access: int = 4
    """Vectors that are read or written in the time of one whose lanes are not neighbours: eight in the nearest cache,
    fewer in others.
    """
    percent_of_work_in_layout: int = 80
    """Percent of the reads and writes of all loops that touch a value below which its axes have another order."""
    max_stack_bytes_of_lanes: int = 4 << 20
    """Bytes that the values of a very long body may take on the stack; with more, fewer lanes are used."""
    sum_bytes: int = 64
    """Bytes of the vector whose lanes are added up side by side in a sum, whatever vectors the processor has."""

    # Eager code: which calls are native from the first one on, because native code has bits of its own

    min_elements_of_native_function: int = 1 << 13
    """Elements from which native code computes functions in eager code, from the first call on: it takes half of
    NumPy's time for them, and some tens of milliseconds once to compile (the disk cache has it then).
    """
    min_elements_of_native_wide_function: int = 1 << 17
    """The same for functions that NumPy computes with vectors of 64 bytes: on one core kernels take 1 to 4 times as
    long, and they only gain by the cores that they run on.
    """
    min_elements_of_native_rows: int = 1 << 15
    """Elements from which programs compute functions of rows in eager code, such as softmax, and compositions, such as
    normalisations, from the first call on: there is a program for each shape, which takes as long to compile as NumPy
    takes for some hundred calls.
    """
    min_elements_of_native_sum: int = 1 << 22
    """The same for sums, with what NumPy takes to begin its inner loops: some milliseconds."""
    elements_of_inner_loop: int = 80
    """Elements that NumPy reduces in the time that one of its inner loops, along neighbouring axes, takes to begin."""
    max_elements_of_short_inner_loop: int = 64
    """Elements of inner loops for which their beginning counts."""
    min_indices_of_native_addition: int = 1 << 14
    """Elements of the last array of a key at which a program adds, from the first call on: a millisecond in NumPy."""
    min_elements_of_native_stack: int = 1 << 14
    """The same for operations on stacks of small matrices, with what Python takes to call LAPACK: milliseconds."""
    min_matrices_of_native_stack: int = 32
    """Matrices of a stack from which a program that serves all lengths computes functions of small ones, such as
    inverses: in a third to a fiftieth of the time of LAPACK. It takes some tens of milliseconds once to compile.
    """
    min_matrices_of_native_product: int = 128
    """The same for their products, for which BLAS takes three times as long; a call takes as long as some fifty."""
    min_elements_of_native_factors: int = 1 << 13
    """Elements of one matrix that native code factors, from the first call on, in a fifth to a half of the time of
    LAPACK. There is a program for each order, which takes a tenth of a second once to compile.
    """
    max_rows_of_native_stack: int = 32
    """Rows of the matrices of such stacks: LAPACK is as fast for larger ones."""
    elements_of_lapack_call: int = 192
    """Elements of matrices for which a stack counts more where Python calls LAPACK for each of them."""
    min_operations_of_native_call: int = 1 << 18
    """Scalar operations of convolutions and windows from which they are native: with their gradients they take as long
    to compile as NumPy takes for some hundred calls.
    """
    min_rows_of_native_factors: int = 16
    """Rows of one matrix from which native code factors it in compiled code: LAPACK is slower then."""

    # What the loops of compiled programs are. A sum has its lanes along the axis in which most of what its loop reads
    # are neighbours, and its pieces and accumulators depend on the work of the loop: so whatever decides what is
    # computed in which loop decides the order.

    # Kernels: what is computed in one loop over rows, and how many lanes run at once

    max_registers_of_iterated_operands: int = 12
    """Vectors that the operands of a loop in registers may take; the others of sixteen are for what a step computes. As
    many lanes are added up side by side.
    """
    min_rows_of_row_kernel: int = 8
    """Rows from which kernels become parts of one loop over rows: fewer are not worth sharing among threads."""
    max_row_bytes_of_row_kernel: int = 1 << 18
    """Bytes that all parts of a row kernel read and write for one row, which should stay in the cache."""
    max_buffer_bytes_of_row_kernel: int = 1 << 16
    """Bytes of all buffers of a row kernel, which are on the stack."""
    min_rows_of_summed_piece: int = 4
    """Rows of each piece from which a row kernel adds up along all rows: fewer cost less than to add the pieces."""
    max_bytes_of_partial_sums: int = 1 << 20
    """Bytes of the sums of all pieces of a row kernel, which should stay in the cache."""
    max_operations_computed_again_in_row: int = 4
    """Scalar operations of an element that several parts of a row kernel compute, rather than that one keeps it: about
    those of writing and reading it in the nearest cache.
    """
    max_vectors_of_iteration: int = 4
    """Vectors that run through the steps of a loop in registers at once, as each step waits for the one before it: four
    cycles for most instructions. As many lanes are added up side by side.
    """

    # Forms: what an operation becomes, and what computes it

    max_unrolled_terms: int = 8
    """Terms of a reduction that is written out, term by term; longer ones are loops, with lanes."""
    max_elements_of_unrolled_reduction: int = 1000
    """Elements that are computed for one element of a reduction which is written out, with those of reductions within
    it: sums of sums of sums would be as many as there are terms of all of them. With more, the terms are stored first,
    by a loop of their own, which costs one read and write for each.
    """
    min_elements_per_updated_element: int = 16
    """Elements of an array for each that is written, from which an update is made in memory; in smaller ones, every
    element is computed anew, in the loops that read it.
    """
    min_elements_updated_in_memory: int = 256
    """Elements of the smallest array that is updated in memory: smaller ones are computed anew in no time."""
    max_updates_traced_to_input: int = 64
    """Updates of updates that are looked at for what they began with; after more, the array is in memory anyway."""
    min_bytes_moved_instead_of_gather: int = 48
    """Bytes that passes over an array move for each element, from which one read at an index is faster: three passes
    over complex numbers, six over doubles.
    """
    min_elements_of_composed_moves: int = 128
    """Elements of the smallest array whose moves are composed: positions of smaller ones are known when code is
    written.
    """
    max_elements_of_composed_moves: int = 1 << 20
    """Elements of the largest array whose moves are composed: its indices are a constant of the program."""
    max_exponent_of_products: int = 32
    """The largest integer exponent for which a power is computed by products, each with its rounding error: at most
    nine of them, in a tenth to a fifth of the time of the function.
    """
    max_row_bytes_read_twice: int = 1 << 15
    """Bytes of rows that stay in a GPU's cache between two reads; longer ones are reduced in one read."""
    min_bytes_of_running_reduction: int = 1 << 24
    """Bytes of the smallest array that is reduced in one read along axes which are not the last ones."""
    min_terms_of_running_reduction: int = 256
    """Terms of the shortest such reduction: fewer stay in registers or in the cache."""
    max_numbers_sorted_for_positions: int = 48
    """Numbers of the longest row that is sorted even if few positions of the order are read: a sorting network is as
    fast.
    """
    max_selected_positions: int = 8
    """Positions of an order that are found one by one, without sorting; for more, sorting takes less time."""
    min_operations_of_iterated_body: int = 400
    """Scalar operations of a loop's body above which elements run through all steps in registers; shorter bodies are
    part of their loop as they are.
    """
    max_operations_of_iterated_element: int = 1 << 16
    """Scalar operations of all steps of one element in registers: a kernel cannot be interrupted."""
    min_bytes_of_written_out_loop: int = 1 << 20
    """Bytes of a state from which the steps of a loop are written out, if they are elementwise: arrays beyond the cache
    would be read and written at every step, which takes longer than a few operations.
    """
    max_operations_of_written_out_loops: int = 1500
    """Operations of all steps of the loops that are written out: a second to compile. With more, they stay loops."""
    max_order_of_small_matrix: int = 8
    """Rows and columns of matrices whose functions are written out in kernels; LAPACK has larger ones."""
    max_order_of_small_triangle: int = 11
    """The same for Cholesky factors and triangular matrices, which are half as much text; at most as many as the
    elements of a diagonal with an error of their own.
    """
    max_order_of_two_vectors: int = 3
    """Rows and columns of matrices of which two vectors run at once: two of larger ones do not fit into the registers.
    As many lanes are added up side by side.
    """
    max_order_of_two_vectors_of_eigenvalues: int = 5
    """The same for eigenvalues: two vectors of larger ones gain a tenth, but take long to compile."""
    max_operations_of_small_matrix: int = 1700
    """Scalar operations of a function of one small matrix that is written out: LLVM's time is proportional to them."""
    min_queries_of_blocked_attention: int = 16
    """Queries from which attention is computed in blocks, without its scores in memory; row kernels are faster for
    fewer.
    """
    min_pairs_of_blocked_attention: int = 1 << 11
    """Pairs of queries and keys from which attention is computed in blocks; small products are faster for fewer."""
    max_elements_of_tall_device_product: int = 256
    """Elements of a product that is a reduction on a GPU, if they have many terms: a library has few threads for it."""
    min_terms_of_tall_device_product: int = 2048
    """Terms of each element of such a product; for fewer, the library has threads enough."""
    max_terms_of_small_device_product: int = 512
    """Terms of all elements of a product that is a reduction on a GPU because it fuses with other operations."""

    # Schedule: what is computed in which loop

    max_scatters_of_kernel: int = 8
    """Scatters into one array that one kernel does: more arrays than that are too many streams. They are added in the
    order of its loop.
    """
    max_bytes_added_to_product: int = 1 << 18
    """Bytes that a product begins with where a kernel could add them: it reads blocks, and memory is faster in order.
    """
    max_products_of_narrow_row: int = 64
    """Multiplications for one row of a tall matrix up to which its products are sums in a loop over rows."""
    max_operations_of_unrolled_program: int = 400
    """Scalar operations of a program that is written out completely, without loops: a loop costs a call and a branch.
    """
    max_operations_computed_again: int = 12
    """Scalar operations of an element that several kernels compute, rather than that one stores it: those of writing it
    to the cache and reading it again.
    """
    max_operations_computed_again_beyond_cache: int = 48
    """The same for arrays beyond the cache: those of writing an element to memory and reading it again."""
    operations_of_storing: int = 12
    """Scalar operations that take as long as writing an element to the cache and reading it again: what later loops
    need of earlier ones over the same elements is stored, or computed again.
    """
    operations_of_storing_beyond_cache: int = 16
    """The same for arrays beyond the cache: as long as one function (0.7 and 0.7 to 2.5 ns on one core, AVX-512). With
    48, `benchmarks --fresh` took 1.0 to 2.0 of the time; with 8 to 24, as long.
    """
    min_bytes_beyond_cache: int = 1 << 20
    """Bytes of arrays that are not in the cache when the next kernel reads them."""
    max_elements_of_short_row: int = 48
    """Elements of rows by which the rows of a program are chosen, whose elements are written out."""
    max_elements_of_unrolled_row: int = 128
    """Elements of rows that are written out where a program has short ones: LLVM's time is proportional to them."""
    min_short_rows: int = 64
    """Short rows that are worth a loop with lanes across them: fewer fill too few vectors."""
    max_terms_of_unrolled_product: int = 512
    """Terms of a product of small matrices in a row, which are summed at once."""
    min_reads_of_copied_columns: int = 4
    """Reads of an operand of rows from which it is copied by columns first: lanes are then neighbours in memory."""
    max_elements_per_counted_read: int = 4
    """Elements of a choice for each that a read is for, up to which the read counts: those of borders do not."""
    max_operations_of_image: int = 2
    """Scalar operations of a function of one value that is never stored instead of that value."""
    max_positions_of_stencil: int = 64
    """Positions at which a value is read up to which they are followed to what it is computed from: their number grows
    exponentially with the steps of a stencil.
    """
    max_terms_of_row_reduction: int = 48
    """Terms of the longest reduction in rows that are written out; for longer ones, lanes along the row do the same."""
    max_terms_of_mixing_reduction: int = 12
    """Terms of a reduction in rows up to which it is a reason to write them out."""
    max_operations_of_unrolled_row: int = 6000
    """Scalar operations of one row that are written out: LLVM's time is proportional to them."""
    min_operations_per_row_element: int = 6
    """Scalar operations for each element that is read or stored, from which rows are written out: lanes read elements
    that are a row apart.
    """
    min_operations_per_narrow_row_element: int = 1
    """The same for narrow rows that are reduced, along which there would be few lanes."""
    max_streams_of_loop: int = 16
    """Large arrays that one loop reads and writes if its values have no operand in common: memory is fast for few
    streams.
    """
    max_values_of_loop: int = 500
    """Values that one loop stores and sums up: LLVM takes more than linear time for long functions. Twelve thousand in
    one loop took twice as long to translate as in loops of 500.
    """
    max_bytes_without_stream: int = 4096
    """Bytes of arrays that stay in the nearest cache, and are no streams."""

    # Passes: what is computed at all

    max_rounds_of_passes: int = 3
    """Rounds of all passes, if they do not come to rest before: few graphs change in the third."""
    max_bytes_of_compared_constants: int = 1 << 12
    """Bytes of constants that are compared by their numbers; larger ones are the same if they are one array. Equal
    values are computed once, in a loop that stores them.
    """
    min_terms_left_to_blas: int = 4096
    """Terms of a sum of products from which BLAS adds them up, if there are several for each element of the operands.
    """
    min_elements_per_added_element: int = 16
    """Elements of an array of cotangents for each that a slice of it has, from which the slice is added in memory."""
    min_elements_of_added_updates: int = 256
    """Elements of the smallest such array."""
    max_bytes_always_folded: int = 4096
    """Bytes of constants that are computed by NumPy, when a graph is optimised, even if they are larger than what they
    are computed from.
    """
    max_bytes_of_folded_constants: int = 1 << 16
    """Bytes by which all constants together may grow when they are computed, beside doubling."""
    min_peak_bytes_of_recomputation: int = 1 << 20
    """Bytes of peak memory from which values are computed again: less fits into a cache, and time matters more."""
    min_bytes_computed_again: int = 1 << 12
    """Bytes of the smallest value that is computed again to save memory."""
    max_rounds_of_recomputation: int = 4
    """Rounds in which the peak is lowered: each is a pass over the graph."""
    max_joined_pieces: int = 64
    """Pieces of an array that are joined at once: each is copied to a longer list of operands."""
    max_parts_read_from_joined: int = 8
    """Parts of a concatenation among which a slice is looked for: each slice looks at all of them."""

    # Control and source: what is written out, what is a loop, and what a loop keeps for its backward pass

    min_operations_of_rolled_graph: int = 1_000
    """Operations from which a graph is searched for repetitions: smaller ones are compiled in a second as they are."""
    min_blocks_of_repetition: int = 16
    """Blocks of operations that repeat each other, from which they become a loop (at least two)."""
    min_operations_saved_by_repetition: int = 100
    """Operations that a loop takes the place of, beside those of its body: fewer are not worth it. Estimated."""
    max_blocks_between_operands: int = 3
    """Blocks after which a result may be an operand of another block: the loop has one more state for each."""
    max_operations_between_operands: int = 32
    """Operations between an operation and its operand up to which their distance tells blocks apart. Estimated."""
    max_periods_tried: int = 12
    """Lengths of a block that are tried at one operation: each takes a comparison of all that follows."""
    max_blocks_left_out: int = 12
    """Blocks that differ from the others, and where a repetition is cut, before it is given up."""
    max_rotations_of_repetition: int = 4_000
    """Operations of a block at which it is tried to begin, so that few values pass to the next: the time is quadratic.
    """
    max_operations_repeated_for_residual: int = 64
    """Operations that the backward part of a body repeats for one value, rather than that the value is kept."""
    max_steps_written_out: int = 16
    """Steps of a loop in the source that is written out: longer ones are compiled in less time as loops."""
    max_steps_written_out_after_break: int = 4
    """Steps after a `break` on a traced condition that are written out, with a choice around each."""

    # Structure and transforms: which products give a matrix of derivatives

    min_passes_of_compressed_jacobian: int = 256
    """Passes of a dense Jacobian or Hessian from which a sparsity pattern is looked for, which takes as long as some.
    """
    min_passes_per_color: int = 4
    """Passes of the dense way for each colour of a pattern, from which the sparse way is taken: it costs more for each.
    """
    max_steps_of_exact_pattern: int = 32
    """Steps of a loop whose dependences are followed one by one; those of longer ones by a pattern of one step."""
    max_products_of_exact_pattern: int = 20_000_000
    """Products with a known factor that are looked at one by one; beyond, its zeros are not exploited."""
    max_conflicts_of_ordered_coloring: int = 400_000
    """Conflicts up to which vertices are ordered by them for a colouring: that takes as long as several colourings."""
    improvements_of_column_coloring: int = 8
    """Times that a colouring of columns is tried again, in the order of its colours; each takes as long as the first.
    """
    improvements_of_symmetric_coloring: int = 4
    """The same for symmetric matrices, whose colourings take longer."""

    # Implicit, integrate and optimize: which algorithm solves a problem

    max_unknowns_of_dense_system: int = 512
    """Unknowns of linear systems that are solved with a dense matrix: 2 MB in double precision."""
    max_nonzeros_per_row_of_factored_system: int = 64
    """Nonzero elements for each row, on average, up to which a larger sparse matrix is factored; others are solved by
    products.
    """
    max_unknowns_of_written_elimination: int = 8
    """Unknowns of linear systems in loops that are solved by elimination, in straight-line code."""
    max_components_by_quadpack: int = 16
    """Components that QUADPACK, which extrapolates at singular ends, integrates one by one; more, together."""
    max_components_of_written_state: int = 8
    """Components of the state of a differential equation that are numbers of their own, in registers."""
    max_variables_of_dense_derivative: int = 100
    """Variables of a minimisation for which a dense matrix is as good as a sparse one."""
    min_variables_without_pattern: int = 200_000
    """Variables from which a pattern is only looked for on request: its colouring takes seconds."""
    max_variables_of_dense_method: int = 300
    """Variables for which methods are chosen that keep a dense matrix of all of them."""
    min_variables_of_total_tolerance: int = 10_001
    """Variables from which Newton-CG ends when the sum of the steps is short: their mean would say little of each."""

    # Operations: which formula or library computes them

    min_rows_of_blas_triangle: int = 64
    """Rows from which NumPy's own library solves triangular systems (`core/blas.py`); for fewer, SciPy's is called
    faster.
    """
    min_rows_of_frechet_recurrence: int = 48
    """Rows from which SciPy's recurrence gives the derivative of a matrix exponential, in a third of the time of the
    block matrix for large ones.
    """
    min_singles_of_rational_erf: int = 1 << 12
    """Elements from which the error function is a quotient of polynomials in single precision, which is faster."""
    max_elements_of_copied_broadcast: int = 4_096
    """Elements of a broadcast array that is a copy rather than a view, in less time; NumPy adds up both in other
    orders.
    """
    block_bytes_of_window_columns: int = 1 << 22
    """Bytes of the columns of windows that are made at once, for as many signals of a batch as fit: what is larger
    leaves the caches, and takes memory. Gradients of kernels are added up block by block.
    """
    max_elements_of_chosen_window: int = 32
    """Elements of windows whose largest ones are chosen one by one, each by a comparison; NumPy runs larger ones."""
    max_elements_of_folded_window: int = 100
    """Elements of windows that are folded one by one, as slices: LLVM's time is proportional to them."""
    operations_of_window_element: int = 4
    """Scalar operations that take as long as NumPy's on one element of a window; with them, windows reach the
    operations from which native code runs them.
    """

    # Distributed: which partial results are added first

    bytes_of_shard: int = 1 << 26
    """Bytes of an array that become one shard, if `rows` does not say how many."""
    partial_sums_added_at_once: int = 8
    """Partial results that are added at once, at least two: fewer make the tree of sums deeper."""
    large_partial_sums_added_at_once: int = 2
    """The same for large ones, so that no worker receives many of them."""
    min_bytes_of_large_partial_sum: int = 1 << 16
    """Bytes from which partial results are large: to send them takes longer than a task."""
