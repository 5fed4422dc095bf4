-- Public halves of the keys that receipts were signed with, the newest last. Receipts of before name theirs.
CREATE TABLE receipt_key (
    number     bigint PRIMARY KEY,
    public_key text   NOT NULL UNIQUE,
    since_us   bigint NOT NULL
);
INSERT INTO receipt_key (number, public_key, since_us)
    SELECT row_number() OVER (ORDER BY min(receipt_order)), signed_by, min(finished_us)
    FROM (SELECT receipt::json ->> 'public_key' AS signed_by, receipt_order, finished_us
          FROM erasure WHERE receipt_order > 0 AND receipt <> '') AS receipts
    WHERE signed_by <> '' GROUP BY signed_by;
