"""Language identification."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.kernels import score_languages
from isogloss.text._extras import need_extra
from isogloss.text._languages import language
from isogloss.text._tokens import check_text

_MODULE = "py3langid.langid"
_MAX_CHARS = 20_000
"""Characters of a text that are read; more would not change the result."""

_NO_LANGUAGE = "zxx"


def identify(text: str, among: Sequence[str] | None = None) -> tuple[str | None, float]:
    """Identify the language of a text with the package ``py3langid``.

    Parameters
    ----------
    text : str
        Sentences are best: titles of three words are often mistaken for a related language. The
        first 20,000 characters are read.
    among : sequence of str, optional
        ISO 639 codes of the possible languages; by default all that the package knows. A short list helps
        with short texts.

    Returns
    -------
    code : str or None
        The ISO 639-1 code, as :func:`~isogloss.text.language` has it; None for a text without
        letters, or in no language.
    probability : float
        Its probability among the possible languages, 0 for a text without letters. Probabilities are soft:
        0.5 among a hundred languages is a clear answer.

    Raises
    ------
    ValueError
        A language of ``among`` is not known to the package.

    Examples
    --------
    >>> identify("Das Haus steht am Ufer des Flusses und hat ein rotes Dach.")[0]
    'de'
    >>> identify("Kaj je to?", among=["sl", "hr", "en"])[0]
    'sl'
    >>> identify("... 42 !")
    (None, 0.0)
    """
    check_text(text)
    text = text[:_MAX_CHARS]
    if not any(map(str.isalpha, text)):
        return None, 0.0
    wanted = None if among is None else tuple(sorted({language(code).code for code in among}))
    identifier, codes = _identifier(wanted)
    label, probability = identifier.classify(text)
    return codes[label], float(probability)


@lru_cache(maxsize=64)
def _identifier(wanted: tuple[str, ...] | None) -> tuple[Any, dict[str, str | None]]:
    """Return a private identifier for some languages, and our codes by its labels."""
    identifier = copy(_model())
    labels = {language(label).code: label for label in identifier.labels if label != _NO_LANGUAGE}
    if wanted is None:
        return identifier, {_NO_LANGUAGE: None} | {label: code for code, label in labels.items()}
    labels.setdefault("nb", labels["no"])
    missing = [code for code in wanted if code not in labels]
    if missing or not wanted:
        raise ValueError(
            f"py3langid does not know {', '.join(missing) or 'an empty list of languages'}; "
            f"it knows {', '.join(sorted(labels))}"
        )
    identifier.set_languages([labels[code] for code in wanted])
    return identifier, {labels[code]: code for code in wanted}


@cache
def _model() -> Any:
    """Return the identifier of all languages; reading it takes a second."""
    module = need_extra(_MODULE)
    return _compiled(module.LanguageIdentifier).from_model_file(module.MODEL_FILE, norm_probs=True)


def _compiled(identifier_class: Any) -> Any:
    """Return a subclass of the package's identifier with a compiled inner loop, ten times as fast."""

    class CompiledIdentifier(identifier_class):
        """Scores languages as the package does, up to rounding."""

        __slots__ = ("_tables", "_weights")

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            rows, outputs = np.array(self.tk_row, np.int32) << 8, np.array(self.tk_output, np.int32)
            self._tables = np.frombuffer(self.tk_nextmove, np.uint32), np.column_stack([rows, outputs])
            self._weights = _bits(self.nb_ptc)

        def set_languages(self, langs: Sequence[str] | None = None) -> None:
            """Choose among some languages."""
            super().set_languages(langs)
            self._weights = _bits(self.nb_ptc)

        def _raw_score(self, text: bytes) -> NDArray[np.float32]:
            scores = np.array(self.nb_pc, np.float32)
            if score_languages(text, *self._tables, self._weights, scores):
                return scores
            prior: NDArray[np.float32] = super()._raw_score(text)
            return prior

    return CompiledIdentifier


def _bits(weights: NDArray[np.float16]) -> NDArray[np.uint16]:
    """Return the bits of half-precision numbers, which the compiled loop reads."""
    return np.ascontiguousarray(weights, np.float16).view(np.uint16)
