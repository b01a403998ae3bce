-- What holds of each row of the tables that are written most. PostgreSQL would parse these anew in each statement (docs/decisions/0059).
-- Names begin with tests_, so that docs/schema.md is compared without them.
set search_path = tidemill;
alter table job
  add constraint tests_job_states check (state in ('waiting', 'delayed', 'pending_approval', 'active', 'failed')),
  add constraint tests_job_lease check (lease_id is not null or (lease_until is null and lease_request is null)),
  add constraint tests_job_attempts check (attempt - spared <= attempts and spared <= attempt),
  add constraint tests_job_decision check (decide_at is null or state = 'pending_approval'),
  add constraint tests_job_key_slot check (key_slot >= 1),
  add constraint tests_job_slot_of_key check (key_slot is null or (concurrency_key is not null and state in ('waiting', 'active'))),
  add constraint tests_job_active_slot check (state <> 'active' or concurrency_key is null or key_slot is not null);
alter table job_history add constraint tests_job_history_states check (state in ('completed', 'cancelled', 'rejected'));
alter table run
  add constraint tests_run_end check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
  add constraint tests_run_expiry check ((ended_at is null) = (expires_at is null)),
  add constraint tests_run_result check (status = 'completed' or result is null);
alter table run_step
  add constraint tests_step_end check ((status = 'waiting') = (ended_at is null)),
  add constraint tests_step_wait check (type <> 'wait' or signal is not null),
  add constraint tests_step_answer check (answered_at is null or type = 'http');
-- By these numbers journals are ordered and read page by page. A retry numbers steps anew, so that it holds at the end.
alter table run_step add constraint tests_step_seq unique (workspace_id, run_id, seq) deferrable initially deferred;
-- Not `on delete cascade`: what deletes the steps of a run is tested.
alter table run_step add constraint tests_step_run foreign key (workspace_id, run_id) references run deferrable initially deferred;
-- Not `on delete cascade` either.
alter table run_key add constraint tests_key_run foreign key (workspace_id, run_id) references run deferrable initially deferred;
