-- In the order of ids, in which they are ended in portions when their webhook is switched off.
drop index webhook_delivery_pending_of;
create index webhook_delivery_pending_of on webhook_delivery (workspace_id, lane_id, id) where state = 'pending';
