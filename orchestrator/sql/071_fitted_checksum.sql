-- Fitted state is checked when it is read, as a model's file is. '' of models that an older Weir has stored.
ALTER TABLE model ADD COLUMN fitted_checksum text NOT NULL DEFAULT '';
