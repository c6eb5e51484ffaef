from ._reader import EventStory as EventStory
from ._reader import EventTitle as EventTitle
from ._reader import RelatedStory as RelatedStory
from ._reader import StoryReader as StoryReader
from ._words import describe_lag as describe_lag
from ._words import format_value as format_value
