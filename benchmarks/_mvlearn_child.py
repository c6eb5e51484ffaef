"""Fits of mvlearn for :class:`benchmarks._multiview.Mvlearn`, in an interpreter that has mvlearn only.

    python _mvlearn_child.py FOLDER

One request per line of standard input, one answer per line of standard output, both JSON.
"""

import json
import sys
import time
from pathlib import Path

import mvlearn
import numpy as np
import sklearn
from mvlearn import embed


def main() -> None:
    """Answer until the input ends."""
    folder = Path(sys.argv[1])
    train, test = (load(folder, name) for name in ("train", "test"))
    for line in sys.stdin:
        request = json.loads(line)
        model = getattr(embed, request["model"])(**request["parameters"])
        start = time.process_time()
        model.fit(train)
        seconds = time.process_time() - start
        np.save(folder / "train_projected.npy", np.array(model.transform(train)))
        np.save(folder / "test_projected.npy", np.array(model.transform(test)))
        answer = {"cpu_seconds": seconds, "version": mvlearn.__version__, "scikit_learn": sklearn.__version__}
        print(json.dumps(answer), flush=True)


def load(folder: Path, name: str) -> list[np.ndarray]:
    """The views of one set, in order."""
    return [np.load(folder / f"{name}{i}.npy") for i in range(len(list(folder.glob(f"{name}[0-9].npy"))))]


if __name__ == "__main__":
    main()
