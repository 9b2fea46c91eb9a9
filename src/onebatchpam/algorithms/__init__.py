"""The estimators: OneBatchPAM, FasterPAM and the others, and the base class that they share.

`base.MedoidEstimator.fit` is the frame of every fit: open the data, let the algorithm choose medoids, assign all rows,
publish. An algorithm is a file with one `_select`, which reads as the algorithm's box in its paper; `onebatchpam.py`
shows the stages of OneBatchPAM in their order:

    space ─▶ start ─▶ batch and block ─▶ weights ─▶ swap search ─▶ refinement ─▶ Selection
             search   batch    blocks    batch      search         search        result

In: what users pass to `fit`. Out: the fitted attributes, all of them or none.
"""

from onebatchpam.algorithms.alternate import Alternate
from onebatchpam.algorithms.banditpam import BanditPAM
from onebatchpam.algorithms.base import MedoidEstimator, read_features
from onebatchpam.algorithms.clara import FasterCLARA
from onebatchpam.algorithms.cluster_medoids import ClusterMedoids, medoids_of
from onebatchpam.algorithms.fasterpam import FasterPAM
from onebatchpam.algorithms.labels_out import LabelsOut
from onebatchpam.algorithms.onebatchpam import OneBatchPAM
from onebatchpam.algorithms.population import InMemory
from onebatchpam.algorithms.result import Clustering, advise_more_passes, warn_if_imperfect
from onebatchpam.algorithms.seeding import KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids
