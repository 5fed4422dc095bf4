-- How many epochs an erasure has is asked whenever somebody asks how far it is.
CREATE INDEX epoch_of_erasure ON epoch (erasure);
