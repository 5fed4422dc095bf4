-- The pool of workers. What is here is committed before a launcher is asked, so that no worker is started twice and none is
-- forgotten, whenever the orchestrator is killed.
CREATE TABLE pool (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    token       text   NOT NULL,           -- in the names of its groups: no other platform has it
    groups      bigint NOT NULL DEFAULT 0, -- that launchers were asked for, so far
    resizes     bigint NOT NULL DEFAULT 0, -- that people were told of
    wanted      bigint,                    -- by a person; NULL: as many as are needed
    target      bigint NOT NULL DEFAULT 0, -- workers that there should be
    host_target bigint NOT NULL DEFAULT 0  -- … beside the trainers
);

-- A row for each worker that there is, or will be soon.
CREATE TABLE pool_worker (
    place        text   NOT NULL, -- pool, host
    number       bigint NOT NULL, -- worker-1, host-1: given again when the row is gone
    launcher     text   NOT NULL,
    launch_group bigint NOT NULL, -- of pool.groups: what the launcher knows it by
    state        text   NOT NULL, -- starting, running, refused, lost, draining, ending
    since_us     bigint NOT NULL,
    why          text   NOT NULL,
    PRIMARY KEY (place, number)
);
