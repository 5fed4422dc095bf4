-- Keys of whoever comes from elsewhere. A row stays when its key is revoked, so that it is never let in again.
CREATE TABLE key (
    public_key text   PRIMARY KEY,            -- 40 characters of Z85
    name       text   NOT NULL,
    role       text   NOT NULL,
    tenant     text   NOT NULL,               -- whose pipelines alone it is for; '': all
    made_for   text   NOT NULL DEFAULT '',    -- what it ends with, as a group of workers; '': nothing
    made_us    bigint NOT NULL,
    revoked_us bigint                         -- NULL: it is let in
);
CREATE UNIQUE INDEX key_by_name ON key (name) WHERE revoked_us IS NULL;

-- Number of the list of keys that are let in: grows with each change.
CREATE TABLE keyring (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    number bigint  NOT NULL
);
INSERT INTO keyring (number) VALUES (1);

-- Tenant of the key that has submitted it; '': it was submitted on the host, or by a key of no tenant.
ALTER TABLE pipeline ADD COLUMN owner text NOT NULL DEFAULT '';

-- Orders and refusals, in a chain: each record has the hash of the one before it, and a signature.
CREATE TABLE audit (
    number bigint PRIMARY KEY,
    at_us  bigint NOT NULL,
    record text   NOT NULL
);
