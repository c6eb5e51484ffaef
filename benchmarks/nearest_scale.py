"""Nearest neighbours of many articles: the exact index, bytes, graphs and inverted lists, and pgvector.

Points are generated: each is near one of many centres, as articles of stories are, in 100 dimensions by
default; queries are new points of the same centres. For each kind: CPU to add an article and for a query (one
thread, one query after the other), memory for an article, and the share of the ten exact nearest that are
found. IVF is faiss's ``IndexIVFFlat`` with the square root of the number of points as lists, a 32nd of them
searched. pgvector is measured with --postgres postgresql://... and its exact scan, as the service uses it.
'Ours' is the exact index, the 'peer' the graph (HNSW), both at the largest size; accuracy is recall.

    python -m benchmarks nearest_scale
    python -m benchmarks.nearest_scale --articles 100000,1000000 --kinds float32,int8,ivf [--dims 500]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Result, Side, calibrate, measure_seconds, need, report
from isogloss.similarity import GraphIndex, Index

ARTICLES, DIMS, QUERIES, NEIGHBOURS, STORY = "20000,50000", 100, 100, 10, 10
KINDS = "float32,float16,int8,graph,ivf"
PART = 50_000

Single = NDArray[np.float32]


def main() -> Result:
    """The small sizes."""
    return run(parse([]))


def run(options: argparse.Namespace) -> Result:
    """Measure each kind at each size."""
    kinds, lines = options.kinds.split(","), []
    for articles in map(int, options.articles.split(",")):
        centres = unit(np.random.default_rng(0), articles // STORY, options.dims)
        queries = near(np.random.default_rng(1), centres, QUERIES)
        exact = Index(options.dims)
        for kind in ["float32", *(kind for kind in kinds if kind != "float32")]:
            line, found = measure(kind, exact, centres, queries, articles, options)
            if kind == "float32":
                answer = found
            line["recall"] = float(
                np.mean([np.isin(a, b).mean() for a, b in zip(answer, found, strict=True)])
            )
            print(json.dumps(line), flush=True)
            lines.append(line)
    last = {line["kind"]: line for line in lines}
    sides = [
        Side(
            f"{kind}, {last[kind]['articles']:,} articles",
            *[last[kind]["query_ms"] / 1000] * 2,
            last[kind]["mb"],
            0.0,
        )
        for kind in ("float32", kinds[-1])
    ]
    return Result(
        name="nearest_scale",
        ours=sides[0],
        peer=sides[1],
        ratio=sides[0].cpu_seconds / sides[1].cpu_seconds,
        accuracy={"ours": last["float32"]["recall"], "peer": last[kinds[-1]]["recall"]},
        threads=1,
        measure="cpu_seconds",
        repeats=QUERIES,
        calibration_seconds=calibrate(),
        details={"dims": options.dims, "lines": lines},
    )


def measure(
    kind: str, exact: Index, centres: Single, queries: Single, articles: int, options: argparse.Namespace
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Add the articles, part by part, and search for each query by itself."""
    index = exact if kind == "float32" else make(kind, articles, options)
    rng, seconds = np.random.default_rng(2), 0.0
    for start in range(0, articles, PART):
        points = near(rng, centres, min(PART, articles - start))
        ids = np.arange(start, start + len(points))
        cpu, _ = measure_seconds(lambda i=ids, p=points: index.add(i, p))
        seconds += cpu
    found: list[NDArray[np.int64]] = []
    cpu, _ = measure_seconds(
        lambda: found.extend(index.search(x[None], NEIGHBOURS).indices[0] for x in queries)
    )
    return {
        "kind": kind,
        "articles": articles,
        "dims": options.dims,
        "add_ms": 1000 * seconds / articles,
        "query_ms": 1000 * cpu / len(queries),
        "mb": index.nbytes / 1e6,
    }, np.array(found)


def make(kind: str, articles: int, options: argparse.Namespace) -> Any:
    """An empty index."""
    makers: dict[str, Callable[[], Any]] = {
        "float16": lambda: Index(options.dims, storage="float16"),
        "int8": lambda: Index(options.dims, storage="int8"),
        "graph": lambda: GraphIndex(options.dims),
        "ivf": lambda: Lists(options.dims, articles),
        "pgvector": lambda: Table(options.postgres, options.dims),
    }
    return makers[kind]()


class Lists:
    """faiss's IndexIVFFlat behind the methods of an index; the first part trains it."""

    def __init__(self, dims: int, articles: int) -> None:
        faiss = need("faiss", package="faiss-cpu")
        faiss.omp_set_num_threads(1)
        self.lists = max(16, round(articles**0.5))
        self.index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dims), dims, self.lists, faiss.METRIC_INNER_PRODUCT)
        self.index.cp.max_points_per_centroid = 50
        self.index.nprobe = max(1, self.lists // 32)

    def add(self, ids: NDArray[np.int64], points: Single) -> None:
        """Train with the first points, and add all."""
        if not self.index.is_trained:
            self.index.train(points)
        self.index.add_with_ids(points, ids)

    def search(self, queries: Single, k: int) -> Any:
        """Search the nearest lists."""
        from isogloss.linalg import TopK

        return TopK(*self.index.search(queries, k))

    @property
    def nbytes(self) -> int:
        """Vectors and ids."""
        return int(self.index.ntotal * (4 * self.index.d + 8) + self.lists * 4 * self.index.d)


class Table:
    """A table of pgvector, scanned exactly."""

    def __init__(self, address: str, dims: int) -> None:
        psycopg = need("psycopg")
        self.session = psycopg.connect(address, autocommit=True)
        self.session.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.session.execute("DROP TABLE IF EXISTS nearest_scale")
        self.session.execute(
            f"CREATE UNLOGGED TABLE nearest_scale (id bigint PRIMARY KEY, place vector({dims}))"
        )
        self.session.execute("ALTER TABLE nearest_scale ALTER place SET STORAGE PLAIN")
        self.session.execute("SET max_parallel_workers_per_gather = 0")

    def add(self, ids: NDArray[np.int64], points: Single) -> None:
        """Copy points into the table."""
        with self.session.cursor().copy("COPY nearest_scale FROM STDIN") as copy:
            for number, point in zip(ids.tolist(), points.tolist(), strict=True):
                copy.write_row((number, str(point)))

    def search(self, queries: Single, k: int) -> Any:
        """Scan the table."""
        from isogloss.linalg import TopK

        rows = self.session.execute(
            "SELECT id FROM nearest_scale ORDER BY place <#> %s::vector LIMIT %s",
            (str(queries[0].tolist()), k),
        ).fetchall()
        ids = np.array([[row[0] for row in rows]])
        return TopK(np.zeros(ids.shape), ids)

    @property
    def nbytes(self) -> int:
        """Size of the table with its key."""
        return int(self.session.execute("SELECT pg_total_relation_size('nearest_scale')").fetchone()[0])


def unit(rng: np.random.Generator, n: int, dims: int) -> Single:
    """Random directions."""
    x = rng.standard_normal((n, dims), dtype=np.float32)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)


def near(rng: np.random.Generator, centres: Single, n: int) -> Single:
    """Points about centres drawn at random, with a cosine of about .7 to them."""
    x = centres[rng.integers(len(centres), size=n)] + unit(rng, n, centres.shape[1])
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", default=ARTICLES, help="one size or several")
    parser.add_argument("--dims", type=int, default=DIMS)
    parser.add_argument("--kinds", default=KINDS, help=f"some of {KINDS},pgvector")
    parser.add_argument("--postgres", default="", help="postgresql://... of a database for kind pgvector")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    report(run(parse(None)))
