-- PostgreSQL parses each constraint of a table anew in each statement that writes to it. These hold in tests (test/harness/constraints.sql).
alter table job
  drop constraint job_check1, drop constraint job_check3, drop constraint job_check4, drop constraint job_check5, drop constraint job_check6,
  drop constraint job_key_slot_check, drop constraint job_state_check;
alter table job_history drop constraint job_history_state_check;
alter table run drop constraint run_check, drop constraint run_check1, drop constraint run_check2;
alter table run_step drop constraint run_step_check, drop constraint run_step_check1, drop constraint run_step_check2;
