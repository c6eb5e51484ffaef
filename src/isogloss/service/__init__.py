"""The service: events, similarity and search over HTTP, for programs and for people.

=================  =========================================================================
``app``            creates the FastAPI application
``server``         runs the application in uvicorn
``settings``       all settings, read from ``isogloss.toml`` and the environment
``client``         the Python client of the API
``api``            routes of the JSON API, request and response bodies, errors
``web``            pages for browsers
``auth``           tokens, scopes and rate limits
``http``           limits on connections and requests
``search``         free text, titles, nearest articles
``models``         similarity models, aligners and dictionaries
``worker``         turns the journal into events; leases, checkpoints, retention
=================  =========================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
