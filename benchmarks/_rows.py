"""All rows, in the order of the table."""

from benchmarks import rows_arrays, rows_control, rows_convolution, rows_dispatch, rows_mlp, rows_models, rows_process
from benchmarks._row import Row

ROWS: list[Row] = [
    *rows_dispatch.ROWS, *rows_mlp.ROWS, *rows_arrays.ROWS, *rows_control.ROWS, *rows_convolution.ROWS,
    *rows_models.ROWS, *rows_process.ROWS,
]  # fmt: skip
BY_NAME = {row.name: row for row in ROWS}
