from ._agglomeration import Rules as Rules
from ._tracker import EventTracker as EventTracker
