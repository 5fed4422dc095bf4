-- Words are kept as they are: whoever searches the files finds them.
ALTER TABLE job ALTER COLUMN fitted SET STORAGE EXTERNAL;
