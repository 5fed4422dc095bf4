-- Tells the secret that all keyed hashes of this store were made with from any other; says nothing of it.
CREATE TABLE secret_check (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    value    text NOT NULL
);
