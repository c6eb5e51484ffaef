"""
Digits as two views: what one half says about the other
========================================================

The left and right halves of 1,797 handwritten digits, which come with scikit-learn, are two views of one
digit.
"""

# %%
# Halves of 8 x 4 pixels. A little noise keeps pixels that are white in every image from being constant.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression

from isogloss.multiview import CCA, SumCor
from isogloss.plotting import plot_canonical_correlations, plot_starts
from isogloss.views import Views

digits = load_digits()
images = digits.images + np.random.default_rng(0).normal(scale=0.1, size=digits.images.shape)
halves = {"left": images[:, :, :4].reshape(-1, 32), "right": images[:, :, 4:].reshape(-1, 32)}
train, test = Views(halves)[:1200], Views(halves)[1200:]

# %%
# Canonical correlations, against those of shuffled rows: about twenty are no chance.

cca = CCA(n_components=32, ridge=0.01).fit(train)
null = cca.permutation_test(train, n_permutations=30, random_state=0)
plot_canonical_correlations(cca, null)

# %%
# Right halves predicted from left halves of new digits, through eight canonical variates. Each column: the
# digit, and its left half with the prediction.

few = CCA(n_components=8, ridge=0.01).fit(train)
known = few.transform(train)["left"]
predicted = LinearRegression().fit(known, train["right"]).predict(few.transform(test)["left"])
error = ((predicted - test["right"]) ** 2).sum()
total = ((test["right"] - train["right"].mean(axis=0)) ** 2).sum()
print(f"{1 - error / total:.0%} of the variance of right halves is predicted")

figure, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for column in range(10):
    left = test["left"][column].reshape(8, 4)
    for row, right in enumerate((test["right"], predicted)):
        whole = np.hstack([left, right[column].reshape(8, 4)])
        axes[row, column].imshow(whole, cmap="gray_r", vmin=0, vmax=16)
        axes[row, column].set_axis_off()

# %%
# Four quarters of the images: with more than two views, different starts can end in different optima. The
# line is a proven bound of what any directions could reach. A start that touches it is the best there is.

quarters = [
    images[:, rows, columns] for rows in (slice(4), slice(4, 8)) for columns in (slice(4), slice(4, 8))
]
parts = Views([quarter.reshape(len(images), -1) for quarter in quarters])
model = SumCor(n_components=1, ridge=0.01, n_init=10, random_state=0).fit(parts)
plot_starts(model, model.certificate_)
print(model.certificate_)
