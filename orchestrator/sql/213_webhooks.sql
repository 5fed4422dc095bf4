-- How far each webhook of the system file has come in the events; named by its host and the hash of its URL.
CREATE TABLE webhook (
    name     text   PRIMARY KEY,
    position bigint NOT NULL, -- number of the newest event that was delivered, or is not for it
    sent     bigint NOT NULL DEFAULT 0
);
