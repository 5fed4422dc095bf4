-- What a trainer said of its run, by name: a JSON object of numbers.
ALTER TABLE run ADD COLUMN metrics text NOT NULL DEFAULT '{}';
