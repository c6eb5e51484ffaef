from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Single = NDArray[np.float32]
_Indices = NDArray[np.int32]
_Offsets = NDArray[np.int64]
_Bytes = NDArray[np.uint8]
_Numbered = tuple[_Indices, _Offsets, _Bytes]

def quadratic_features(x: _Float, kind: int, out: _Float) -> None: ...
def normalise_lexicon(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    target_words: int,
    counts: _Float,
    pseudo_pairs: NDArray[np.float32],
    pseudo_each: float,
    lexicon: NDArray[np.float32],
) -> None: ...
def normalise_log_joint(
    log_joint: _Float, weights: _Float, threshold: float, log_norm: _Float
) -> tuple[float, int]: ...
def list_active(
    posterior: _Float,
    threshold: float,
    lengths: NDArray[np.int64],
    indices: NDArray[np.int32],
    free: _Float,
) -> None: ...
def expect_active(
    x: _Float,
    weights: _Float,
    theta: _Float,
    offsets: NDArray[np.int64],
    indices: NDArray[np.int32],
    free: _Float,
    kind: int,
    sums: _Float,
) -> float: ...
def select_rounded(
    queries: NDArray[np.uint8],
    worth: _Single,
    targets: NDArray[np.int8],
    sums: _Indices,
    scales: _Single,
    bias: _Single,
    d: int,
    first: int,
    portable: bool,
    scores: _Single,
    indices: _Indices,
) -> None: ...
def select_rows(
    block: _Single, column_bias: _Single, first_column: int, scores: _Single, indices: _Indices
) -> None: ...
def select_both(
    block: _Single,
    column_bias: _Single,
    row_bias: _Single,
    first_row: int,
    first_column: int,
    row_scores: _Single,
    row_indices: _Indices,
    column_scores: _Single,
    column_indices: _Indices,
    floors: _Single,
) -> None: ...
def rank_candidates(
    queries: _Single, targets: _Single, bias: _Float, candidates: _Indices, scores: _Float
) -> None: ...
def pair_table(
    source: _Indices,
    source_offsets: _Offsets,
    target: _Indices,
    target_offsets: _Offsets,
    source_words: int,
    target_words: int,
    threads: int,
) -> tuple[_Offsets, _Indices]: ...
def pack_queries(values: NDArray[np.uint8], packed: NDArray[np.uint8]) -> None: ...
def pack_targets(values: NDArray[np.int8], packed: NDArray[np.int8]) -> None: ...
def pair_slots(
    source: _Indices,
    source_offsets: _Offsets,
    target: _Indices,
    target_offsets: _Offsets,
    cells: _Offsets,
    rows: _Offsets,
    columns: _Indices,
    target_words: int,
    threads: int,
    slots: _Indices,
) -> None: ...
def spelling_similarity(
    source_letters: _Indices,
    source_offsets: _Offsets,
    target_letters: _Indices,
    target_offsets: _Offsets,
    alphabet: int,
    rows: _Offsets,
    columns: _Indices,
    out: _Single,
) -> None: ...
def expect_links(
    text: tuple[Any, ...],
    lexicon: _Single,
    settings: tuple[int, int, float, float],
    forward: tuple[Any, ...],
    backward: tuple[Any, ...],
    forward_sums: tuple[Any, ...],
    backward_sums: tuple[Any, ...],
    threads: int,
    counts: _Float,
) -> None: ...
def link_posteriors(
    text: tuple[Any, ...],
    lexicon: _Single,
    settings: tuple[int, int, float, float],
    forward: tuple[Any, ...],
    backward: tuple[Any, ...],
    threads: int,
    forward_posterior: _Single,
    backward_posterior: _Single,
) -> None: ...
def best_links(
    text: tuple[Any, ...],
    lexicon: _Single,
    settings: tuple[int, int, float, float],
    forward: tuple[Any, ...],
    backward: tuple[Any, ...],
    threads: int,
    forward_best: _Indices,
    backward_best: _Indices,
) -> None: ...
def exchange_sweeps(
    next_rows: _Offsets,
    next_words: _Indices,
    next_counts: _Offsets,
    before_rows: _Offsets,
    before_words: _Indices,
    before_counts: _Offsets,
    order: _Indices,
    n_classes: int,
    class_of: _Indices,
    objective: _Float,
) -> int: ...
def expect_fertility(
    text: tuple[Any, ...],
    model: tuple[Any, ...],
    settings: tuple[int, int, int, float],
    threads: int,
    best: _Indices,
    log_likelihood: _Float,
    links: _Float,
    sums: tuple[Any, ...],
) -> None: ...
def hmm_expect(
    codes: _Indices,
    labels: _Indices,
    offsets: _Offsets,
    weights: _Float,
    start: _Float,
    transition: _Float,
    emission: _Float,
    threads: int,
    start_counts: _Float,
    transition_counts: _Float,
    emission_counts: _Float,
    log_likelihood: _Float,
) -> None: ...
def hmm_posteriors(
    codes: _Indices,
    labels: _Indices,
    offsets: _Offsets,
    start: _Float,
    transition: _Float,
    emission: _Float,
    threads: int,
    posterior: _Float,
    log_likelihood: _Float,
) -> None: ...
def hmm_best_paths(
    codes: _Indices,
    labels: _Indices,
    offsets: _Offsets,
    start: _Float,
    transition: _Float,
    emission: _Float,
    threads: int,
    path: _Indices,
    log_probability: _Float,
) -> None: ...
def count_terms(
    text: bytes, seed: int, stem: int, gram: int, size: int, ids: _Indices, counts: _Float
) -> int: ...
def weigh_article(
    title_ids: _Indices,
    title_counts: _Float,
    body_ids: _Indices,
    body_counts: _Float,
    frequencies: _Indices,
    total: float,
    body_weight: float,
    body_power: float,
    most: int,
    counted: _Indices,
    ids: _Indices,
    weights: _Float,
) -> tuple[int, int]: ...
def add_sparse(
    a_ids: _Indices,
    a_weights: _Float,
    b_ids: _Indices,
    b_weights: _Float,
    factor: float,
    most: int,
    ids: _Indices,
    weights: _Float,
) -> int: ...
def dot_each(
    ids: _Indices, weights: _Float, vectors: list[tuple[_Indices, _Float]], products: _Float
) -> None: ...
def dot_sparse(a_ids: _Indices, a_weights: _Float, b_ids: _Indices, b_weights: _Float) -> float: ...
def list_cluster(
    lists: _Indices, next: NDArray[np.uint8], ids: _Indices, weights: _Float, most: int, cluster: int
) -> None: ...
def find_clusters(lists: _Indices, ids: _Indices, weights: _Float, most: int, clusters: _Indices) -> int: ...
def find_copy(
    signature: NDArray[np.uint32],
    time: int,
    factors: NDArray[np.uint64],
    seen: int,
    threshold: float,
    within: float,
    table: _Indices,
    signatures: NDArray[np.uint32],
    times: _Offsets,
    remember: bool = True,
) -> int: ...
def find_nearest(
    lists: list[_Indices],
    folded: _Indices,
    ids: _Indices,
    weights: _Float,
    most: int,
    compared: int,
    k: int,
    table: _Indices,
    owners: _Indices,
    shelf_ids: _Indices,
    shelf_weights: _Float,
    lengths: _Indices,
    groups: _Indices,
    group: int,
    least: float,
    close: _Indices,
    numbers: _Indices,
    products: _Float,
    own_groups: _Indices,
) -> int: ...
def nearest_of_each(
    query: _Single,
    collections: list[list[tuple[_Single, _Offsets, NDArray[np.bool_], _Float]]],
    since: float,
    until: float,
    scores: _Float,
    ids: _Offsets,
    vectors: _Single,
) -> None: ...
def nearest_points(
    rounded: NDArray[np.int16],
    points: NDArray[np.float32],
    owners: NDArray[np.int64],
    languages: NDArray[np.int16],
    rounded_point: NDArray[np.int16],
    point: NDArray[np.float32],
    unit: float,
    rows: int,
    oldest: int,
    k: int,
    least: float,
    numbers: NDArray[np.int64],
) -> int: ...

class NearPairs:
    def add(self, number: int, numbers: _Indices, similarities: _Float) -> None: ...
    def forget(self, number: int) -> None: ...
    def of(self, numbers: _Indices) -> tuple[_Indices, _Indices, _Float]: ...
    def __len__(self) -> int: ...

class Bonds:
    def __init__(self, least: float) -> None: ...
    def add(self, clusters: _Indices, others: _Indices, similarities: _Float) -> None: ...
    def forget(self, cluster: int) -> None: ...
    def strongest(self, clusters: _Indices, most: int) -> tuple[_Indices, _Indices, _Indices, _Float]: ...
    def __len__(self) -> int: ...

class PackedProfile:
    def __init__(self, named: int) -> None: ...
    def add(self, named: list[Mapping[str, float] | tuple[str, ...]]) -> None: ...
    def set_statistics(
        self, ids: _Indices, weights: _Float, statistics: _Float, marks: list[str | None]
    ) -> None: ...

def measure_profiles(profiles: list[PackedProfile], measures: _Float, marks: _Offsets) -> None: ...
def overlap_pairs(
    profiles: list[PackedProfile], first: _Indices, second: _Indices, inner: _Float, shared: _Indices
) -> None: ...
def strongest_names(
    profiles: list[PackedProfile], first: int, last: int, tables: Iterable[Mapping[str, float]], k: int
) -> list[tuple[str, float]]: ...
def find_new_name(
    profiles: list[PackedProfile],
    articles: _Float,
    times: _Float,
    languages: _Indices,
    part: int,
    prior: float,
    least: float,
) -> tuple[float, int]: ...
def replace_links(
    linked: dict[int, dict[int, float]],
    changed: list[int],
    first: _Indices,
    second: _Indices,
    chances: _Float,
) -> None: ...
def join_clusters(
    ids: _Offsets,
    weights: _Float,
    languages: _Indices,
    linked: list[dict[int, float]],
    threshold: float,
    impossible: float,
    same_language: float,
    doubt: float,
    unlinked: float,
    prior: float,
    cohesion: float,
    group: _Indices,
) -> None: ...
def number_pairs(
    source: _Bytes,
    source_starts: _Offsets,
    source_ends: _Offsets,
    target: _Bytes,
    target_starts: _Offsets,
    target_ends: _Offsets,
    most: int,
) -> tuple[_Offsets, _Numbered, _Numbered]: ...
def part_spans(
    text: _Bytes,
    starts: _Offsets,
    ends: _Offsets,
    separator: _Bytes,
    first: int,
    second: int,
    parts: int,
) -> tuple[_Offsets, _Offsets, _Offsets, _Offsets]: ...
def link_lines(offsets: _Offsets, source: _Indices, target: _Indices, first: int) -> _Bytes: ...
def cut_parts(text: str, kinds: _Bytes) -> tuple[list[str], list[str], list[str], set[str], bytes]: ...
def spot_words(text: str, kinds: _Bytes, dull: set[str]) -> list[tuple[int, int, str]]: ...
def strongest_keys(
    title: list[str], body: list[str], keys: dict[str, str], of_title: int, most: int
) -> list[tuple[str, int]]: ...
def score_languages(
    text: bytes,
    moves: NDArray[np.uint32],
    states: _Indices,
    weights: NDArray[np.uint16],
    scores: NDArray[np.float32],
) -> int: ...
def sound_key(word: str, letters: int) -> str: ...
def letter_kinds(text: str, kinds: _Bytes) -> int: ...
def find_words(text: str, is_letter: _Bytes) -> list[str]: ...
def min_hashes(
    letters: NDArray[np.uint16],
    kinds: _Bytes,
    numbers: NDArray[np.uint64],
    steps: NDArray[np.uint64],
    factors: NDArray[np.uint64],
) -> NDArray[np.uint32]: ...
def explain_sentences(
    words: _Indices,
    offsets: _Offsets,
    other_words: _Indices,
    other_offsets: _Offsets,
    rows: _Offsets,
    columns: _Indices,
    ratios: _Single,
    n_other: int,
    floor: float,
    starts: _Offsets,
    stops: _Offsets,
    cells: _Offsets,
    backward: bool,
    out: _Single,
) -> None: ...

class Beads:
    def __init__(
        self,
        starts: _Offsets,
        stops: _Offsets,
        cells: _Offsets,
        kinds: _Indices,
        log_kinds: _Float,
        source_lengths: _Float,
        precisions: _Float,
        target_lengths: _Float,
        backgrounds: _Float,
        log_ratio: float,
        floor: float,
        forward: _Single,
        backward: _Single,
        source_ends: _Bytes,
        target_ends: _Bytes,
        paragraphs: _Float,
    ) -> None: ...
    def best(self) -> tuple[_Indices, float]: ...
    def posteriors(self, path: _Indices) -> tuple[_Float, _Float, float]: ...

def topic_proportions(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    counts: _Float,
    weights: _Float,
    prior: _Float,
    expected: _Float,
    next: _Float,
    theta: _Float,
    ratio: _Float,
    updates: int,
    tolerance: float,
    point: bool,
    threads: int,
) -> int: ...
def sample_topics(
    column_starts: NDArray[np.int64],
    documents: NDArray[np.int32],
    assigned: NDArray[np.int32],
    view_starts: NDArray[np.int64],
    words: _Float,
    totals: _Float,
    prior: _Float,
    word_prior: _Float,
    list_starts: NDArray[np.int64],
    list_entries: NDArray[np.int32],
    list_lengths: NDArray[np.int32],
    seed: int,
    sweeps: int,
) -> None: ...
def count_topics(column_starts: NDArray[np.int64], assigned: NDArray[np.int32], out: _Float) -> None: ...
def list_topics(
    documents: NDArray[np.int32],
    assigned: NDArray[np.int32],
    list_starts: NDArray[np.int64],
    list_entries: NDArray[np.int32],
    list_lengths: NDArray[np.int32],
) -> None: ...
