"""The estimators: OneBatchPAM, FasterPAM and the others, and the base class that they share.

`base.MedoidEstimator.fit` contains the steps that every fit shares: check the parameters, open the data, let the
algorithm choose medoids, assign all rows, set the fitted attributes. Each algorithm has a file whose `_select` chooses
the medoids and reads like the pseudocode of its paper. `onebatchpam.py` contains the stages of OneBatchPAM in their
order, `batch_search.py` carries them out; the second line names the room of each stage:

    space ─▶ start ─▶ sample ─▶ batch and block ─▶ weights ─▶ swap search ─▶ refinement ─▶ Selection
             search   batch     batch    blocks    batch      search         search        result

`population` is what these stages ask for rows, here of data in memory or in files; `dask` has another. `effort` says
how many starts a fit makes. `cost` estimates what a fit takes before it begins: `work` counts what its stages compute,
and `rates` measures how fast this machine is.

`representatives` orders the medoids of OneBatchPAM, `representative_selector` does so for pipelines, `cluster_medoids`
finds the medoids of clusters that are known already.

In: the arguments of `fit`. Out: the fitted attributes; a fit that fails leaves the estimator as it was.
"""

from onebatchpam.algorithms.alternate import Alternate
from onebatchpam.algorithms.banditpam import BanditPAM
from onebatchpam.algorithms.base import MedoidEstimator, open_space_for_fit, read_features
from onebatchpam.algorithms.batch_search import BatchSearch
from onebatchpam.algorithms.clara import FasterCLARA
from onebatchpam.algorithms.clarans import CLARANS
from onebatchpam.algorithms.cluster_medoids import (
    ClusterMedoids,
    check_labels,
    check_n_labels,
    medoids_of,
    split_clusters,
    split_points,
)
from onebatchpam.algorithms.cost import CostEstimate
from onebatchpam.algorithms.fastermsc import DynMSC, FasterMSC
from onebatchpam.algorithms.fasterpam import FasterPAM
from onebatchpam.algorithms.onebatchpam import OneBatchPAM, improve
from onebatchpam.algorithms.pam import PAM
from onebatchpam.algorithms.population import InMemory, SearchSample
from onebatchpam.algorithms.representative_selector import RepresentativeSelector
from onebatchpam.algorithms.representatives import Representatives, select_representatives
from onebatchpam.algorithms.result import (
    Clustering,
    describe_profile,
    warn_if_imperfect,
    warn_if_small,
)
from onebatchpam.algorithms.seeding import KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids
