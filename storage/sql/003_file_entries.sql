-- How the entries of a file group are written: enum file_group_encoding in storage/file_group.h. Groups that are
-- there stay as they are until they are written again.
ALTER TABLE file_group ADD COLUMN encoding bigint NOT NULL DEFAULT 0;
