"""Normalization if all tables could lie in one place: read, fit and transform with scikit-learn, write.

    python bench/pooled_normalization.py METHOD TABLE TARGET

Prints the peak of its memory in bytes. Started by `bench/normalization.py`.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

SCALERS = {
    "z-score": StandardScaler,
    "min-max": MinMaxScaler,
    "robust": RobustScaler,
    "yeo-johnson": PowerTransformer,
}


def main(method: str, source: Path, target: Path) -> None:
    table = read(source)
    values = np.column_stack([column.to_numpy() for column in table.columns])
    scaled = SCALERS[method]().fit_transform(values)
    write(pa.table(dict(zip(table.column_names, scaled.T, strict=True))), target)


def read(path: Path) -> pa.Table:
    return pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
