-- At whose pipelines alone a token may look; '': at the whole platform.
ALTER TABLE page_token ADD COLUMN tenant text NOT NULL DEFAULT '';
