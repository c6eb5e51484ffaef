"""The service: events, similarity and search over HTTP, for programs and for people.

================  ====================================================================
``settings``      one file, every value with a name, a default and a sentence
``app``           the application around a store
``server``        the application on an address
``routes``        the API, by what it is about
``records``       articles, events and errors as types; ``shapes`` has the others
``client``        the API as methods; ``transport`` sends its requests
``guard``         limits on every request; ``bodies`` looks at JSON before it is parsed
``plain``         a fast path for plain requests to some routes
``headers``       what a browser may do with an answer
``protocol``      HTTP connections; ``connections`` bounds their number; ``heads`` answers HEAD
``access``        who may do what; ``tokens`` and ``rates`` are what it decides by
``errors``        one shape for everything that goes wrong
``writing``       articles of many requests in one commit
``background``    a thread that can be stopped and asked after
``worker``        from the journal to events, while the service runs
``backlog``       how far events are behind
``changes``       new and changed events as they come
``models``        what answers about meaning are made with; ``words`` are dictionaries
``comparing``     two texts, and topics
``neighbours``    articles near a text; ``stored_neighbours`` has the database look for them
``search``        events by free text; ``titles`` finds them by names
``terms``         languages, places and concepts as people call them
``lookups``       small questions to the store
``metrics``       figures for Prometheus
``leases``        one worker at a time
``keeping``       the state of the stream, saved by a copy of the worker
``lines``         lines of the journal, read ahead
``preparers``     articles prepared for the worker, on any host
``logs``          a line for each request, for people or as JSON; ``log_lines`` waits for no reader
``making``        the stream as the settings want it
``worker``        from the journal to the tables
``pages``         the web pages; ``drawing`` has their pictures
``kept_pages``    pages as they were written last
``parts``         all of these together
================  ====================================================================
"""

__all__: list[str] = []
