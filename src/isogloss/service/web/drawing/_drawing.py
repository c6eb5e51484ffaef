"""Pictures of the pages, as SVG that stands in HTML: drawn here, coloured by the style sheet.

=============  ====================================================================
``svg``        elements and attributes, escaped
``plots``      sparkline, timeline, bars, curve
``world``      the map: dots of cities, and places of an event on top
``crossing``   lines between the words of two sentences
=============  ====================================================================
"""

from isogloss.service.web.drawing._crossing import crossing
from isogloss.service.web.drawing._plots import bars, curve, sparkline, timeline
from isogloss.service.web.drawing._world import event_map, world_svg

__all__ = ["bars", "crossing", "curve", "event_map", "sparkline", "timeline", "world_svg"]
