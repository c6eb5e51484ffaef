from ._csls import csls_both as csls_both
from ._csls import csls_means as csls_means
from ._csls import unit_rows as unit_rows
from ._retrieval import retrieve as retrieve
