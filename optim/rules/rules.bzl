"""The rules of the library with a Step of their own: file (without .h) of each C++ type.
embedding/update/BUILD compiles the executor once a rule."""

RULES = {
    "Adagrad": "adagrad",
    "Adam": "adam",
    "CounterRowwiseAdagrad": "counter_rowwise_adagrad",
    "CowClipRowwiseAdagrad": "cowclip_rowwise_adagrad",
    "Ftrl": "ftrl",
    "GlobalDecayRowwiseAdagrad": "global_decay_rowwise_adagrad",
    "Lamb": "lamb",
    "LarsSgd": "lars_sgd",
    "Lion": "lion",
    "MomentumSgd": "momentum_sgd",
    "PartialRowwiseAdam": "partial_rowwise_adam",
    "PartialRowwiseLamb": "partial_rowwise_lamb",
    "RowwiseAdagrad": "rowwise_adagrad",
    "RowwiseRmspropAr": "rowwise_rmsprop_ar",
    "Sgd": "sgd",
}
