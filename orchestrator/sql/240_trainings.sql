-- Trainings of the trigger under way are looked for with each edge of a pipeline.
CREATE INDEX run_trainings ON run (pipeline, trigger) WHERE mode = 'train';
