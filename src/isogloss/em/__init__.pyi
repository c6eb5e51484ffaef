from .expectation import (
    Expectation as Expectation,
)
from .expectation import (
    FullExpectation as FullExpectation,
)
from .expectation import (
    IncrementalExpectation as IncrementalExpectation,
)
from .expectation import (
    SparseExpectation as SparseExpectation,
)
from .loop import (
    Callback as Callback,
)
from .loop import (
    EMResult as EMResult,
)
from .loop import (
    Iteration as Iteration,
)
from .loop import (
    OnDecrease as OnDecrease,
)
from .loop import (
    best_of as best_of,
)
from .loop import (
    run_em as run_em,
)
from .model import (
    EMModel as EMModel,
)
from .model import (
    FreeEnergy as FreeEnergy,
)
from .model import (
    SparseSteps as SparseSteps,
)
from .model import (
    parameters_id as parameters_id,
)
from .recorder import Recorder as Recorder
