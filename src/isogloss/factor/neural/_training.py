"""Training of :class:`~isogloss.factor.neural.MultiViewVAE` with PyTorch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.extras import import_extra
from isogloss.threads import count_threads

Array: TypeAlias = NDArray[np.float64]
Layers: TypeAlias = list[Array]
"""Weights and biases of the layers of a network, in turn."""

logger = logging.getLogger(__name__)

# As in the model, which is evaluated without PyTorch.
_MAX_LOG_PRECISION = 15.0
# Gradients longer than this are shortened, so that a few odd rows do not throw the weights off.
_MAX_GRADIENT = 10.0


@dataclass(frozen=True)
class VAESettings:
    """Parameters of :class:`~isogloss.factor.neural.MultiViewVAE`."""

    n_components: int
    hidden: tuple[int, ...]
    single_view_share: float
    noise_floor: float
    learning_rate: float
    batch_size: int
    max_iter: int
    validation_fraction: float
    n_iter_no_change: int
    random_state: np.random.RandomState
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class TrainedNetworks:
    """The networks, and how they came about."""

    encoders: list[Layers]
    decoders: list[Layers]
    noise_variances: list[Array]
    trace: Array
    """Bound per row of training rows and of held-out ones, by pass. Shape (passes, 2)."""


def train(
    arrays: Sequence[Array], present: NDArray[np.bool_], dims: Sequence[int], settings: VAESettings
) -> TrainedNetworks:
    """Maximise the bound by Adam, and keep the weights that were best on held-out rows.

    Parameters
    ----------
    arrays : sequence of array (n, features)
        Standardised views; what stands in missing rows does not matter.
    present : array of bool (n, views)
        Which row has which view.
    dims : sequence of int
        Features of the views.
    settings : VAESettings
        Sizes and steps.
    """
    torch = import_extra("torch", "torch", "training a variational autoencoder")
    threads = torch.get_num_threads()
    torch.set_num_threads(count_threads(settings.n_jobs))
    try:
        return _Trainer(torch, arrays, present, dims, settings).run()
    finally:
        torch.set_num_threads(threads)


class _Trainer:
    """Rows, networks and optimiser."""

    def __init__(
        self,
        torch: Any,
        arrays: Sequence[Array],
        present: NDArray[np.bool_],
        dims: Sequence[int],
        settings: VAESettings,
    ) -> None:
        self.torch, self.settings = torch, settings
        rng = settings.random_state
        self.arrays = [torch.tensor(x, dtype=torch.float32) for x in arrays]
        self.present = torch.tensor(present, dtype=torch.float32)
        k, hidden = settings.n_components, settings.hidden
        self.encoders = [self._layers([p, *hidden, 2 * k], rng) for p in dims]
        self.decoders = [self._layers([k, *hidden[::-1], p], rng) for p in dims]
        self.log_noise = [torch.zeros(p, requires_grad=True) for p in dims]
        self.generator = torch.Generator().manual_seed(int(rng.randint(2**31)))
        self.rng = rng
        networks = [layer for layers in (*self.encoders, *self.decoders) for layer in layers]
        self.parameters = [*networks, *self.log_noise]
        self.optimiser = torch.optim.Adam(self.parameters, lr=settings.learning_rate)

    def _layers(self, sizes: Sequence[int], rng: np.random.RandomState) -> list[Any]:
        """Weights of Glorot and Bengio's variance, and biases of zero."""
        torch, layers = self.torch, []
        for p, q in pairwise(sizes):
            weights = rng.standard_normal((p, q)) * np.sqrt(2.0 / (p + q))
            layers.append(torch.tensor(weights, dtype=torch.float32, requires_grad=True))
            layers.append(torch.zeros(q, requires_grad=True))
        return layers

    def run(self) -> TrainedNetworks:
        """Make passes over the rows until the held-out bound stops rising."""
        held_out, rows = self._divide()
        trace, best, kept = [], -np.inf, self._weights()
        since = 0
        for number in range(self.settings.max_iter):
            trained = self._pass(rows)
            judged = self._evaluate(held_out) if len(held_out) else np.nan
            trace.append((trained, judged))
            logger.debug("pass %d: bound %.4f, held out %.4f", number + 1, trained, judged)
            if not np.isfinite(trained):
                raise ValueError(
                    f"training diverged in pass {number + 1}; lower "
                    f"learning_rate={self.settings.learning_rate:g}"
                )
            if not len(held_out) or judged > best:
                best, kept, since = judged, self._weights(), 0
            else:
                since += 1
                if since >= self.settings.n_iter_no_change:
                    break
        encoders, decoders, log_noise = kept
        floor = self.settings.noise_floor
        return TrainedNetworks(encoders, decoders, [np.exp(x) + floor for x in log_noise], np.array(trace))

    def _divide(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Held-out rows, and the others."""
        n = len(self.present)
        order = self.rng.permutation(n)
        held = min(round(self.settings.validation_fraction * n), n - 1)
        return order[:held], order[held:]

    def _pass(self, rows: NDArray[np.int64]) -> float:
        total, size = 0.0, self.settings.batch_size
        order = self.rng.permutation(rows)
        for start in range(0, len(order), size):
            batch = self.torch.from_numpy(order[start : start + size])
            seen = self._seen(self.present[batch])
            bound = self._bound(batch, seen)
            self.optimiser.zero_grad()
            (-bound.mean()).backward()
            self.torch.nn.utils.clip_grad_norm_(self.parameters, _MAX_GRADIENT)
            self.optimiser.step()
            total += float(bound.detach().sum())
        return total / len(rows)

    def _evaluate(self, rows: NDArray[np.int64]) -> float:
        """The bound of held-out rows with all their views, the same noise every time."""
        generator, self.generator = self.generator, self.torch.Generator().manual_seed(0)
        with self.torch.no_grad():
            batch = self.torch.from_numpy(np.sort(rows))
            bound = float(self._bound(batch, self.present[batch]).mean())
        self.generator = generator
        return bound

    def _seen(self, present: Any) -> Any:
        """The views that posteriors are made of: all, or for a share of the rows one at random."""
        torch = self.torch
        chances = torch.rand(present.shape, generator=self.generator) * present
        one = torch.zeros_like(present).scatter_(1, chances.argmax(dim=1, keepdim=True), 1.0) * present
        alone = torch.rand((len(present), 1), generator=self.generator) < self.settings.single_view_share
        return torch.where(alone, one, present)

    def _bound(self, batch: Any, seen: Any) -> Any:
        """The evidence lower bound of every row, its posterior made of the views seen."""
        torch, k = self.torch, self.settings.n_components
        present = self.present[batch]
        precision = torch.ones((len(batch), k))
        weighted = torch.zeros((len(batch), k))
        for v, encoder in enumerate(self.encoders):
            mean, log_precision = self._network(self.arrays[v][batch], encoder).split(k, dim=1)
            expert = log_precision.clamp(max=_MAX_LOG_PRECISION).exp() * seen[:, v : v + 1]
            precision = precision + expert
            weighted = weighted + expert * mean
        mean, log_variance = weighted / precision, -precision.log()
        noise = torch.randn(mean.shape, generator=self.generator)
        z = mean + (0.5 * log_variance).exp() * noise
        bound = 0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(dim=1)
        for v, decoder in enumerate(self.decoders):
            variance = self.log_noise[v].exp() + self.settings.noise_floor
            error = self.arrays[v][batch] - self._network(z, decoder)
            density = -0.5 * (error**2 / variance + (2 * torch.pi * variance).log()).sum(dim=1)
            bound = bound + density * present[:, v]
        return bound

    def _network(self, X: Any, layers: Sequence[Any]) -> Any:
        for index in range(0, len(layers), 2):
            X = X @ layers[index] + layers[index + 1]
            if index + 2 < len(layers):
                X = X.tanh()
        return X

    def _weights(self) -> tuple[list[Layers], list[Layers], Layers]:
        """The weights as they are now, as arrays."""
        return (
            [_arrays(layers) for layers in self.encoders],
            [_arrays(layers) for layers in self.decoders],
            _arrays(self.log_noise),
        )


def _arrays(tensors: Sequence[Any]) -> list[Array]:
    return [x.detach().numpy().astype(np.float64) for x in tensors]
