"""The rules of the library: file (without .h) of each C++ type. embedding/BUILD compiles the executor once a rule."""

RULES = {
    "Adagrad": "adagrad",
    "Adam": "adam",
    "PartialRowwiseAdam": "adam",
    "RowwiseAdagrad": "rowwise_adagrad",
    "Sgd": "sgd",
}
