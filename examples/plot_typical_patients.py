"""
Typical patients, as a table
============================

An average patient is neither a man nor a woman, and has nobody's blood values. A medoid is a patient of the study,
whose file can be opened.

The 442 diabetes patients are those that come with scikit-learn: ten measurements, and how far the disease progressed
within a year.
"""

# %%
# Gower's dissimilarity compares the sex by equality, and each number relative to its range, so that nothing needs to be
# scaled. What is to be explained, the progression, is left out of the comparison.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from onebatchpam import OneBatchPAM

patients = load_diabetes(as_frame=True, scaled=False).frame.rename(
    columns={"bp": "blood pressure", "s1": "cholesterol", "s5": "log triglycerides", "s6": "blood sugar"}
)
patients["sex"] = patients["sex"].map({1.0: "1", 2.0: "2"})  # the source does not say which is which
compared = ["age", "sex", "bmi", "blood pressure", "cholesterol", "log triglycerides", "blood sugar"]

model = OneBatchPAM(n_clusters=4, metric="gower", random_state=0).fit(patients[compared])

# %%
# Four patients
# -------------
#
# Each stands for a group; the last column is the mean progression of the group, which the fit has not seen.

groups = patients.groupby(model.labels_)
typical = model.medoids_.assign(
    **{"stands for": groups.size().to_numpy(), "mean progression": groups["target"].mean().round().to_numpy()}
).sort_values("mean progression")
for row, represented in typical["stands for"].items():
    print(f"patient {row} stands for {represented}")

typical.round(1)

# %%
# What sets them apart
# --------------------
#
# Colours say where the value of a patient lies among all: blue is low, red is high.

numbers = [column for column in compared if column != "sex"]
ranks = typical[numbers].apply(lambda column: np.searchsorted(np.sort(patients[column.name]), column) / len(patients))
shades = plt.get_cmap("coolwarm")(ranks.reindex(columns=typical.columns).fillna(0.5), alpha=0.75)
shades[:, ~typical.columns.isin(numbers)] = 1.0  # white

texts = typical.map(lambda value: value if isinstance(value, str) else f"{value:.3g}")
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.axis("off")
table = ax.table(
    texts.T.to_numpy(),  # a column for each patient
    rowLabels=list(texts),
    colLabels=[f"patient {row}" for row in texts.index],
    cellColours=shades.swapaxes(0, 1),
    cellLoc="center",
    bbox=(0.27, 0, 0.73, 1),
)
table.auto_set_font_size(False)
table.set_fontsize(12)
for cell in table.get_celld().values():
    cell.set_edgecolor("lightgray")
plt.show()
