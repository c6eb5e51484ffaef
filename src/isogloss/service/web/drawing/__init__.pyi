from ._drawing import bars as bars
from ._drawing import crossing as crossing
from ._drawing import curve as curve
from ._drawing import event_map as event_map
from ._drawing import sparkline as sparkline
from ._drawing import timeline as timeline
from ._drawing import world_svg as world_svg
