"""The web pages: rendered here, working without scripts, with nothing from other hosts.

=============  ====================================================================
``events``     *Now* and *Event*: all events as cards, one of them in full
``texts``      *Search*, *Compare*, *Topics* and *Dictionary*
``overview``   *Models*, *Status*, signing in, files
``frame``      templates, names of languages, errors as pages
``filters``    filters of events in the address of the page
``cards``      events in short, and what can be chosen
``reasons``    why clusters were linked
``reports``    evaluations of models
``visitor``    tokens and forms of people at a browser
=============  ====================================================================
"""

from fastapi import APIRouter

from isogloss.service.web._events import events_router
from isogloss.service.web._overview import overview_router
from isogloss.service.web._texts import texts_router

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for each in (events_router, texts_router, overview_router):
    router.include_router(each)
