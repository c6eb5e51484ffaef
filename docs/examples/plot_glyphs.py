"""
Text and image: characters and their names
==========================================

Every character of Unicode has a name, such as LATIN SMALL LETTER E WITH ACUTE, and a shape in a font. Names
come with Python and a font with Matplotlib. Canonical correlation analysis learns which words go with which
strokes, and finds characters that it has not seen by their names.
"""

# %%
# Two views of letters of three scripts: images of 24 x 24 pixels, and the words of the names.

import unicodedata

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font
from sklearn.feature_extraction.text import CountVectorizer

from isogloss.multiview import CCA
from isogloss.views import Views

font = FT2Font(findfont("DejaVu Sans"))
font.set_size(14, 72)


def draw(letter):
    """Draw a letter in the middle of a square."""
    font.set_text(letter)
    font.draw_glyphs_to_bitmap()
    image = np.asarray(font.get_image())[:24, :24]
    top, left = (24 - image.shape[0]) // 2, (24 - image.shape[1]) // 2
    square = np.zeros((24, 24))
    square[top : top + image.shape[0], left : left + image.shape[1]] = image / 255
    return square


scripts = ("LATIN", "GREEK", "CYRILLIC")
letters = [chr(code) for code in sorted(font.get_charmap()) if unicodedata.category(chr(code))[0] == "L"]
letters = np.array([one for one in letters if unicodedata.name(one, "").startswith(scripts)])
letters = np.random.default_rng(0).permutation(letters)
names = [unicodedata.name(letter).lower() for letter in letters]
images = np.array([draw(letter) for letter in letters])
words = CountVectorizer(token_pattern=r"\w+", binary=True, min_df=2)
views = Views({"image": images.reshape(len(images), -1), "name": words.fit_transform(names).toarray()})
train, test = views[:1200], views[1200:]

# %%
# Thirty canonical variates of the letters to learn from. Letters and names are then compared by cosines of
# their variates, each variate counting as much as both views agree on it.

model = CCA(n_components=30, ridge=0.1).fit(train)
projected = model.transform(test)
points = {view: projected[view] * model.correlations_ for view in ("image", "name")}
units = {view: x / np.linalg.norm(x, axis=1, keepdims=True) for view, x in points.items()}
cosines = units["name"] @ units["image"].T
ranks = 1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1)
print(f"{len(ranks)} new letters; first for their own name: {np.mean(ranks == 1):.0%}")
print(f"among the first ten: {np.mean(ranks <= 10):.0%}, by chance {10 / len(ranks):.1%}")

# %%
# The six best images for some names. A frame marks the letter that has the name.

chosen = [n for n, name in enumerate(names[1200:]) if " with " in name][:6]
figure, axes = plt.subplots(len(chosen), 6, figsize=(7, 6), layout="constrained")
for row, query in enumerate(chosen):
    for column, found in enumerate(np.argsort(-cosines[query])[:6]):
        ax = axes[row, column]
        ax.imshow(test["image"][found].reshape(24, 24), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set(visible=found == query, linewidth=2)
    axes[row, 0].set_title(names[1200 + query], fontsize=7, loc="left")
