-- Models of a trigger are looked for by each row of a report.
CREATE INDEX model_by_trigger ON model (pipeline, trigger);
