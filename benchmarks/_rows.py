"""All rows, in the order of the table."""

from benchmarks import rows_arrays, rows_control, rows_dispatch, rows_mlp, rows_process
from benchmarks._row import Row

ROWS: list[Row] = [*rows_dispatch.ROWS, *rows_mlp.ROWS, *rows_arrays.ROWS, *rows_control.ROWS, *rows_process.ROWS]
BY_NAME = {row.name: row for row in ROWS}
