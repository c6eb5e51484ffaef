BEGIN TRANSACTION;
CREATE TABLE alert (
            id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, event TEXT NOT NULL,
            search INTEGER REFERENCES saved_search (id) ON DELETE CASCADE, channel TEXT NOT NULL,
            address TEXT NOT NULL, secret TEXT NOT NULL, minutes INTEGER NOT NULL,
            created INTEGER NOT NULL, line INTEGER NOT NULL, next INTEGER NOT NULL,
            delivered INTEGER NOT NULL, dropped INTEGER NOT NULL, error TEXT NOT NULL);
INSERT INTO "alert" VALUES(6,'t1','e1',NULL,'webhook','https://desk.example/hook','whsec_',5,9,4,10,2,1,'the server answered 500');
CREATE TABLE alias (id TEXT PRIMARY KEY, event TEXT NOT NULL);
INSERT INTO "alias" VALUES('e0','e1');
CREATE TABLE article (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, id TEXT NOT NULL, lang TEXT NOT NULL,
            title TEXT NOT NULL, body TEXT NOT NULL, time INTEGER NOT NULL, source TEXT NOT NULL,
            url TEXT NOT NULL, digest TEXT NOT NULL, received INTEGER NOT NULL,
            revision INTEGER NOT NULL, claimed TEXT);
INSERT INTO "article" VALUES(1,'The Gull https://gull.example/1','1','en','Storm Ottilie hits the coast','en2w1 en2w3 en5w0',1741161600000000,'The Gull','https://gull.example/1','d7b2b190b951386608dea6c99519e63a',1741334400000000,0,NULL);
INSERT INTO "article" VALUES(2,'The Gull https://gull.example/2','2','en','Roofs fly as storm Ottilie lands','en2w1 en2w2 en5w1',1741168800000000,'The Gull','https://gull.example/2','4c4a4cdad78d20697f3d772b3bf9bc54',1741334400000000,0,NULL);
INSERT INTO "article" VALUES(3,'The Gull https://gull.example/3','3','de','Sturm Ottilie erreicht die Küste','de2w1 de2w3 de5w0',1741172400000000,'The Gull','https://gull.example/3','e1225fd05b2e1e4f5fa43b5e55a39e9d',1741334400000000,0,NULL);
INSERT INTO "article" VALUES(4,'The Gull https://gull.example/4','4','fr','Élections à Brest','fr7w1 fr7w2',1741269600000000,'The Gull','https://gull.example/4','6e7cd27d0a62d068aa593f8bb7642222',1741334400000000,0,NULL);
INSERT INTO "article" VALUES(5,'The Gull https://gull.example/5','5','ja','雨の東京 ☔','東京は雨です。
東京は雨です。
東京は雨です。
',1741305600000000,'The Gull','https://gull.example/5','f73bb2d814fd2b659ee7aaba1a6bbac0',1741334400000000,0,NULL);
INSERT INTO "article" VALUES(6,'The Gull https://gull.example/6','6','en','It''s 50% off; --','!',1741161600000000,'The Gull','https://gull.example/6','dfeda3115820894df27761f7966901fa',1741334400000000,1,NULL);
CREATE TABLE article_point (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, article INTEGER NOT NULL UNIQUE REFERENCES article (seq) ON DELETE CASCADE,
            model TEXT NOT NULL, lang TEXT NOT NULL, vector BLOB NOT NULL);
INSERT INTO "article_point" VALUES(1,2,'model','en',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE attempt (
            seq INTEGER PRIMARY KEY REFERENCES journal (seq) ON DELETE CASCADE,
            failures INTEGER NOT NULL, reason TEXT NOT NULL, said TEXT NOT NULL,
            noted INTEGER NOT NULL, quarantined INTEGER NOT NULL, retried INTEGER NOT NULL);
INSERT INTO "attempt" VALUES(7,2,'too slow','took 30 s',12,13,0);
CREATE TABLE cluster (
            id INTEGER PRIMARY KEY, lang TEXT NOT NULL, event TEXT NOT NULL, first INTEGER NOT NULL,
            last INTEGER NOT NULL, size INTEGER NOT NULL, data TEXT NOT NULL);
INSERT INTO "cluster" VALUES(1,'en','e1',1741161600000000,1741168800000000,2,'{"title":"Storm Ottilie hits the coast"}');
INSERT INTO "cluster" VALUES(2,'de','e1',1741172400000000,1741172400000000,1,'{"title":"Sturm Ottilie erreicht die Küste"}');
INSERT INTO "cluster" VALUES(3,'fr','e2',1741269600000000,1741269600000000,1,'{"title":"Élections à Brest"}');
CREATE TABLE deletion (
            article INTEGER PRIMARY KEY, digest TEXT NOT NULL, deleted INTEGER NOT NULL,
            who TEXT NOT NULL);
INSERT INTO "deletion" VALUES(99,'digest',8,'desk');
CREATE TABLE event (
            id TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL,
            languages INTEGER NOT NULL, changed INTEGER NOT NULL, data TEXT NOT NULL, sources INTEGER NOT NULL DEFAULT 0, importance INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL DEFAULT 0);
INSERT INTO "event" VALUES('e1',1741161600000000,1741172400000000,3,2,3,'{"concepts":[{"id":"name:ottilie","label":"Ottilie","weight":0.9}],"confidence":0.93,"languages":{"de":1,"en":2},"places":[{"count":2,"country":"IE","id":1,"name":"Galway"}],"timeline":[["2025-03-05",3]],"title":{"de":"Sturm Ottilie erreicht die Küste","en":"Storm Ottilie hits the coast"}}',1,20156251,3);
INSERT INTO "event" VALUES('e2',1741269600000000,1741269600000000,1,1,4,'{"title":{"fr":"Élections à Brest"}}',1,20154583,4);
CREATE TABLE event_term (
            event TEXT NOT NULL REFERENCES event (id) ON DELETE CASCADE, kind TEXT NOT NULL,
            term TEXT NOT NULL, PRIMARY KEY (kind, term, event));
INSERT INTO "event_term" VALUES('e1','concept','name:ottilie');
INSERT INTO "event_term" VALUES('e1','lang','de');
INSERT INTO "event_term" VALUES('e1','lang','en');
INSERT INTO "event_term" VALUES('e1','place','geo:1');
INSERT INTO "event_term" VALUES('e1','source','The Gull');
INSERT INTO "event_term" VALUES('e2','lang','fr');
INSERT INTO "event_term" VALUES('e2','source','The Gull');
CREATE TABLE feed (url TEXT PRIMARY KEY, data TEXT NOT NULL);
INSERT INTO "feed" VALUES('https://gull.example/feed','{"etag": "W/\"1\""}');
CREATE TABLE feed_health (
            url TEXT PRIMARY KEY REFERENCES feed (url) ON DELETE CASCADE, title TEXT NOT NULL,
            error TEXT NOT NULL, visited INTEGER NOT NULL, succeeded INTEGER NOT NULL,
            failed INTEGER NOT NULL, due INTEGER NOT NULL, failures INTEGER NOT NULL,
            articles INTEGER NOT NULL);
INSERT INTO "feed_health" VALUES('https://gull.example/feed','','',0,0,0,0,0,0);
CREATE TABLE journal (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, article INTEGER NOT NULL, revision INTEGER NOT NULL,
            received INTEGER NOT NULL);
INSERT INTO "journal" VALUES(1,'article',1,0,1741334400000000);
INSERT INTO "journal" VALUES(2,'article',2,0,1741334400000000);
INSERT INTO "journal" VALUES(3,'article',3,0,1741334400000000);
INSERT INTO "journal" VALUES(4,'article',4,0,1741334400000000);
INSERT INTO "journal" VALUES(5,'article',5,0,1741334400000000);
INSERT INTO "journal" VALUES(6,'article',6,0,1741334400000000);
INSERT INTO "journal" VALUES(7,'revision',6,1,1741334400000000);
INSERT INTO "journal" VALUES(8,'update',0,0,1741334400000000);
CREATE TABLE link (
            a INTEGER NOT NULL, b INTEGER NOT NULL, probability DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL, PRIMARY KEY (a, b));
INSERT INTO "link" VALUES(1,2,0.93,'{"contributions":{"names":2.1},"features":{"dates":null,"names":0.8},"pairs":[[1,3,0.7]]}');
CREATE TABLE member (
            article INTEGER PRIMARY KEY REFERENCES article (seq) ON DELETE CASCADE,
            cluster INTEGER NOT NULL REFERENCES cluster (id) ON DELETE CASCADE, source TEXT NOT NULL DEFAULT '');
INSERT INTO "member" VALUES(1,1,'The Gull');
INSERT INTO "member" VALUES(2,1,'The Gull');
INSERT INTO "member" VALUES(3,2,'The Gull');
INSERT INTO "member" VALUES(4,3,'The Gull');
CREATE TABLE metadata (name TEXT PRIMARY KEY, data TEXT NOT NULL);
INSERT INTO "metadata" VALUES('retention','{"approved_days": 90}');
CREATE TABLE model (
            name TEXT PRIMARY KEY, created INTEGER NOT NULL, report TEXT NOT NULL, data BLOB NOT NULL);
INSERT INTO "model" VALUES('small',7,'{}',X'00FF');
CREATE TABLE outbox (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, alert INTEGER NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
            event TEXT NOT NULL, line INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
            created INTEGER NOT NULL DEFAULT 0);
INSERT INTO "outbox" VALUES(3,6,'e1',4,1,9);
CREATE TABLE progress (name TEXT PRIMARY KEY, seq INTEGER NOT NULL);
INSERT INTO "progress" VALUES('last_cluster',0);
INSERT INTO "progress" VALUES('last_event',0);
INSERT INTO "progress" VALUES('events',4);
INSERT INTO "progress" VALUES('committed',1795067078001017);
CREATE TABLE quarantine (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL, said TEXT NOT NULL, record TEXT NOT NULL,
            received INTEGER NOT NULL);
INSERT INTO "quarantine" VALUES(1,'time','no time','{"title": "?"}',1741334400000000);
CREATE TABLE rebuilt_cluster (
            id INTEGER PRIMARY KEY, lang TEXT NOT NULL, event TEXT NOT NULL, first INTEGER NOT NULL,
            last INTEGER NOT NULL, size INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE rebuilt_event (
            id TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL,
            languages INTEGER NOT NULL, changed INTEGER NOT NULL, data TEXT NOT NULL, sources INTEGER NOT NULL DEFAULT 0, importance INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL DEFAULT 0);
CREATE TABLE rebuilt_event_term (
            event TEXT NOT NULL, kind TEXT NOT NULL, term TEXT NOT NULL, PRIMARY KEY (kind, term, event));
CREATE TABLE rebuilt_link (
            a INTEGER NOT NULL, b INTEGER NOT NULL, probability DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE rebuilt_member (
            article INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, source TEXT NOT NULL DEFAULT '');
CREATE TABLE renamed (
            kind TEXT NOT NULL, number INTEGER NOT NULL, id INTEGER NOT NULL,
            PRIMARY KEY (kind, number));
INSERT INTO "renamed" VALUES('cluster',70,3);
CREATE TABLE request (
            key TEXT PRIMARY KEY, digest TEXT NOT NULL, answer TEXT NOT NULL, received INTEGER NOT NULL);
INSERT INTO "request" VALUES('morning','dbc106f5908f0862c812db4ec7e70392','[{"key": "The Gull https://gull.example/5", "seq": 5, "status": "new"}, {"key": "The Gull https://gull.example/6", "seq": 6, "status": "new"}]',1741334400000000);
CREATE TABLE revision (
            article INTEGER NOT NULL REFERENCES article (seq) ON DELETE CASCADE, number INTEGER NOT NULL,
            lang TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, time INTEGER NOT NULL,
            received INTEGER NOT NULL, PRIMARY KEY (article, number));
INSERT INTO "revision" VALUES(6,0,'en','It''s 50% off; --','?',1741161600000000,1741334400000000);
CREATE TABLE saved_search (
            id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, name TEXT NOT NULL, query TEXT NOT NULL,
            created INTEGER NOT NULL, changed INTEGER NOT NULL, UNIQUE (owner, name));
INSERT INTO "saved_search" VALUES(5,'t1','storms','{"q":"storm"}',9,9);
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO "schema_version" VALUES(1);
INSERT INTO "schema_version" VALUES(2);
INSERT INTO "schema_version" VALUES(3);
INSERT INTO "schema_version" VALUES(4);
INSERT INTO "schema_version" VALUES(5);
INSERT INTO "schema_version" VALUES(6);
INSERT INTO "schema_version" VALUES(7);
INSERT INTO "schema_version" VALUES(8);
CREATE TABLE snapshot (
            name TEXT NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (name, seq));
INSERT INTO "snapshot" VALUES('part 0',4,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF');
INSERT INTO "snapshot" VALUES('events',4,X'');
CREATE TABLE tally (name TEXT PRIMARY KEY, count INTEGER NOT NULL);
INSERT INTO "tally" VALUES('here',3);
CREATE TABLE token (
            id TEXT PRIMARY KEY, secret TEXT NOT NULL, scopes TEXT NOT NULL, label TEXT NOT NULL,
            created INTEGER NOT NULL, expires INTEGER NOT NULL, revoked INTEGER NOT NULL);
INSERT INTO "token" VALUES('t1','digest','read write','desk',1,2,0);
CREATE TABLE verdict (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, a INTEGER NOT NULL, b INTEGER NOT NULL, same INTEGER NOT NULL,
            note TEXT NOT NULL, received INTEGER NOT NULL, article_a INTEGER, article_b INTEGER);
INSERT INTO "verdict" VALUES(1,1,2,0,'no; ''1''',9,1,3);
CREATE INDEX article_time ON article (time);
CREATE INDEX request_received ON request (received);
CREATE INDEX cluster_event ON cluster (event);
CREATE INDEX member_cluster ON member (cluster);
CREATE INDEX link_b ON link (b);
CREATE INDEX event_last ON event (last, id);
CREATE INDEX event_changed ON event (changed, id);
CREATE INDEX event_term_event ON event_term (event);
CREATE INDEX journal_article ON journal (article);
CREATE INDEX deletion_digest ON deletion (digest);
CREATE INDEX rebuilt_member_cluster ON rebuilt_member (cluster);
CREATE INDEX rebuilt_link_b ON rebuilt_link (b);
CREATE INDEX rebuilt_event_term_event ON rebuilt_event_term (event);
CREATE INDEX article_point_model ON article_point (model, seq);
CREATE INDEX article_source ON article (source, lang, time);
CREATE INDEX event_importance ON event (importance, id);
CREATE INDEX alert_event ON alert (event);
CREATE INDEX outbox_alert ON outbox (alert, seq);
CREATE UNIQUE INDEX outbox_waiting ON outbox (alert, event) WHERE attempts = 0;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('article',6);
INSERT INTO "sqlite_sequence" VALUES('journal',8);
INSERT INTO "sqlite_sequence" VALUES('outbox',3);
INSERT INTO "sqlite_sequence" VALUES('quarantine',1);
INSERT INTO "sqlite_sequence" VALUES('verdict',1);
INSERT INTO "sqlite_sequence" VALUES('article_point',1);
INSERT INTO "sqlite_sequence" VALUES('saved_search',5);
INSERT INTO "sqlite_sequence" VALUES('alert',6);
CREATE VIRTUAL TABLE article_text USING fts5 (version UNINDEXED, title, body, keys, detail=column, tokenize="ascii tokenchars '_'");
INSERT INTO article_text (rowid, version, title, body, keys) VALUES (2, 1, 'a b', 'c', '');
COMMIT;
