"""Made-up news for tools/load.py: articles of many stories, no two alike."""

import random
import re
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime

from isogloss.events.ingest import sample_news


class News:
    """Articles of many stories: those of one share names, and words of an event of the sample news."""

    def __init__(self, seed, stories=500, articles=20):
        self.chance, self.number, self.lock = random.Random(seed), 0, threading.Lock()
        self.run, self.articles = f"{time.time():.0f}-{seed}", articles
        told = sample_news()
        self.words, self.topics = defaultdict(list), defaultdict(list)
        for article in told.articles:
            words = re.findall(r"\w+", article.text)
            self.words[article.lang] += words
            self.topics[told.events[article.id], article.lang] += words
        self.events = sorted({event for event, _ in self.topics})
        self.languages = {event: [lang for e, lang in self.topics if e == event] for event in self.events}
        self.stories = [self.story() for _ in range(stories)]

    def story(self):
        """A topic of the sample, and names that no other story has."""
        names = ["".join(self.chance.choices("aeioubdgklmnrst", k=7)).title() for _ in range(12)]
        return self.chance.choice(self.events), names

    def article(self, moment=None):
        """The next one; now and then a story ends and another begins."""
        with self.lock:
            self.number += 1
            place = self.chance.randrange(len(self.stories))
            if self.chance.random() < 1 / self.articles:
                self.stories[place] = self.story()
            return self.told(*self.stories[place], moment or datetime.now(UTC))

    def told(self, topic, names, moment):
        """An article on a story, in one of the languages of its topic."""
        lang, pick = self.chance.choice(self.languages[topic]), self.chance.choices
        own, common = self.topics[topic, lang], self.words[lang]
        return {
            "id": f"{self.run}-{self.number}",
            "lang": lang,
            "title": " ".join(pick(names, k=2) + pick(own, k=5)),
            "body": " ".join(pick(names, k=12) + pick(own, k=15) + pick(common, k=55)),
            "time": moment.isoformat(),
            "source": "load",
        }
