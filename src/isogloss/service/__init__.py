"""The service: events, similarity and search over HTTP, for programs and for people."""
