from ._reader import EventStory as EventStory
from ._reader import EventTitle as EventTitle
from ._reader import RelatedStory as RelatedStory
from ._reader import StoryReader as StoryReader
