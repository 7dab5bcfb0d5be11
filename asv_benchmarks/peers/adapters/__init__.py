"""One file a peer: its class `Peer` has the attributes and methods of `adapters.base.Peer`."""

ALL = (
    "swnn_session",
    "swnn_classifier",
    "swnn_classifier_s75",
    "scipy_matmul",
    "sparse_dot_topn",
    "sklearn_neighbors",
    "vsag_sindi",
    "bm25s_numba",
    "nmslib_hnsw",
    "qdrant_edge",
    "omikuji_parabel",
    "pecos_xr_linear",
    "napkinxc_plt",
    "napkinxc_br",
)

# Classifiers that rank labels: what `make bench-quality` compares. Trained one-vs-rest models are
# not in ALL, for they take the longest of all.
RANKING = (
    "swnn_classifier",
    "swnn_weights",
    "swnn_ranker",
    "swnn_names",
    "omikuji_parabel",
    "pecos_xr_linear",
    "napkinxc_plt",
    "napkinxc_br",
    "liblinear_ovr",
)
