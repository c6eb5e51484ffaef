from ._topics import shared_topics as shared_topics
