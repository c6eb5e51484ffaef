from ._agglomeration import AgglomerationRules as AgglomerationRules
from ._tracker import EventTracker as EventTracker
