-- Ids grow, so new rows go to the end of an ascending index. PostgreSQL remembers the last page, and splits it so that it stays full. In a
-- descending one they go to the beginning of their workspace's part: each place is looked up, and pages are split in halves.
-- Reading an ascending index backwards is as fast.
drop index job_newest;
drop index job_history_newest;

-- The jobs of queues over all queues, to be read backwards, newest first: those that wait, and dead letters. Active jobs are found by their
-- lease, so that a claim does not add to this index. The workspace is an expression that no other statement uses, so that a planner without
-- statistics does not choose this index for the jobs of one state or queue.
create index job_newest on job ((coalesce(workspace_id, id)), id) where kind = 'queue' and state <> 'active';
create index job_history_newest on job_history ((coalesce(workspace_id, id)), id) where kind = 'queue';
