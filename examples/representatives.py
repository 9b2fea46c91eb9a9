"""
Which rows to label
===================

Representatives of all rows, in an order that lets you stop early or go on later.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from onebatchpam import select_representatives

# %%
# 1,347 images of digits wait for labels; 450 others have labels, by which models that learn from a few are judged.

images, digits = load_digits(return_X_y=True)
pool, test, answers, test_answers = train_test_split(images, digits, random_state=0)


def accuracy(labelled):
    """Return how many digits are recognised by the nearest labelled image."""
    return KNeighborsClassifier(1).fit(pool[labelled], answers[labelled]).score(test, test_answers)


chosen = select_representatives(pool, 100, random_state=0)
print(chosen)

figure, axes = plt.subplots(2, 6, figsize=(6, 2.6), layout="constrained")
for ax, row in zip(axes.flat, chosen.indices, strict=False):
    ax.imshow(pool[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
figure.suptitle("the first twelve to label")
plt.show()

# %%
# Every prefix is a selection of its own: the first 20 images are the ones to label if there is time for 20.

drawn = np.random.default_rng(0).permutation(len(pool))
for k in (10, 20, 50, 100):
    print(
        f"{k:>4} labels: {accuracy(chosen.indices[:k]):.1%} recognised, {accuracy(drawn[:k]):.1%} by as many at random"
    )

# %%
# Twenty images have been labelled already, whoever chose them. The next thirty are chosen to go with them.

labelled = drawn[:20]
grown = select_representatives(pool, 50, fixed=labelled, random_state=0)
assert (grown.indices[:20] == labelled).all()
print(f"20 at random and the 30 best beside them: {accuracy(grown.indices):.1%} recognised")
print(grown.summary())
