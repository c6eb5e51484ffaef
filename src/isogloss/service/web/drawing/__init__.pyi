from ._map import event_map as event_map
from ._map import world_map_svg as world_map_svg
from ._plots import alignment_diagram as alignment_diagram
from ._plots import bars as bars
from ._plots import curve as curve
from ._plots import sparkline as sparkline
from ._plots import timeline as timeline
