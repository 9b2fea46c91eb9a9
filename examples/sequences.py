"""
Representative sequences of a FASTA file
========================================

The representatives are medoids under the edit distance.

`orchids.fasta` holds 94 sequences of lady's slipper orchids, about 700 letters each: the region of ITS1, 5.8S rRNA and
ITS2 in GenBank's entries Z78439 to Z78533, as they come with the documentation of Biopython. GenBank sets no limits to
the use and the distribution of its data.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from onebatchpam import OneBatchPAM, distance_block


def read_fasta(path: Path) -> tuple[list[str], list[str]]:
    """Return the names and the sequences of a FASTA file."""
    entries = [entry.split("\n", maxsplit=1) for entry in path.read_text().split(">")[1:]]
    return [name for name, _ in entries], ["".join(lines.split()) for _, lines in entries]


names, sequences = read_fasta(Path(__file__).with_name("orchids.fasta"))
species = [name.split()[1] for name in names]

# %%
# Insertions, deletions and replacements, as a share of the longer sequence's length. No representative stands for fewer
# than four sequences.

model = OneBatchPAM(
    n_clusters=6, metric="levenshtein", metric_params={"normalized": True}, min_cluster_size=4, random_state=0
).fit(sequences)

print(f"{len(sequences)} sequences, {model.n_distances_:,} edit distances; the six representatives:")
distances = model.transform(sequences)
for label, medoid in enumerate(model.medoid_indices_):
    members = np.flatnonzero(model.labels_ == label)
    nearest = members[np.argsort(distances[members, label], kind="stable")[1:4]]
    print(f"\n>{names[medoid]}\n{sequences[medoid][:60]}...")
    print(f"stands for {len(members)} sequences, at most {distances[members, label].max():.0%} different:")
    print(f"  {', '.join(species[i] for i in nearest)}, ...")

# %%
# All pairs, ordered by cluster: each block on the diagonal is a cluster, whose sequences are near each other.

ordered = [sequences[i] for i in np.argsort(model.labels_, kind="stable")]
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
image = ax.imshow(distance_block(ordered, ordered, "levenshtein", metric_params={"normalized": True}))
figure.colorbar(image, label="share of letters that differ")
ax.set(xticks=[], yticks=[], title="edit distances, by cluster")
plt.show()
