"""The medoid silhouette: how much nearer rows are to their own medoid than to the second nearest one."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from onebatchpam._parameters import check_weights, describe
from onebatchpam._progress import Stages
from onebatchpam.algorithms import MedoidEstimator
from onebatchpam.answers import assess, mean_silhouette


def medoid_silhouette(X: ArrayLike, model: MedoidEstimator, sample_weight: ArrayLike | None = None) -> float:
    """Return the average medoid silhouette of rows under a fitted model.

    This is the mean over all rows of 1 - d1 / d2, where d1 and d2 are the dissimilarities to the nearest and to the
    second nearest medoid: 1 if every row coincides with its medoid, 0 if every row is as near to a second medoid. It
    computes n k dissimilarities, whereas `sklearn.metrics.silhouette_score` compares all pairs of rows.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        The rows, as in the `predict` of the model: those it was fitted to, or new ones.
    model : fitted estimator
        `OneBatchPAM` or another estimator of this package, fitted with at least two medoids.
    sample_weight : array-like of shape (n,) or float, default=None
        Weights of the rows in the average, not negative; None means 1 for every row.

    Returns
    -------
    float
        Between 0 and 1. A row at distance 0 from a medoid counts as 1, even if it is at distance 0 from two medoids.

    References
    ----------
    Lenssen, Schubert: Clustering by Direct Optimization of the Medoid Silhouette, SISAP 2022.

    Examples
    --------
    >>> from onebatchpam import OneBatchPAM, medoid_silhouette
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = OneBatchPAM(2, init=[0, 3]).fit(X)
    >>> round(medoid_silhouette(X, model), 3)
    0.938
    """
    if not isinstance(model, MedoidEstimator):
        raise ValueError(f"{describe(model, 'model')}: expected a fitted estimator of this package")
    weights = check_weights(sample_weight)
    check_is_fitted(model)
    if len(model.medoid_indices_) < 2:
        raise ValueError("n_clusters=1: the medoid silhouette compares two medoids; expected n_clusters >= 2")
    return mean_silhouette(assess(model._distances_to_medoids(X), Stages()), weights)
