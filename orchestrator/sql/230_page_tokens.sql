-- Tokens of browsers that may look at the live page from elsewhere. A token is shown once, to whoever makes it.
CREATE TABLE page_token (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text   NOT NULL,
    hash       text   NOT NULL UNIQUE, -- BLAKE2b-256 of its text, 64 hexadecimal digits
    made_us    bigint NOT NULL,
    revoked_us bigint                  -- NULL: it is let in
);
CREATE UNIQUE INDEX page_token_by_name ON page_token (name) WHERE revoked_us IS NULL;
