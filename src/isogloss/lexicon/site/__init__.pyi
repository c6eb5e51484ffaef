from ._description import Description as Description
from ._description import SiteLanguage as SiteLanguage
from ._description import direction_of as direction_of
from ._site import Download as Download
from ._site import write_site as write_site
