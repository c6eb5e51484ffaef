from ._agglomeration import AgglomerationRules as AgglomerationRules
from ._follow_ups import split_follow_ups as split_follow_ups
from ._tracker import EventTracker as EventTracker
