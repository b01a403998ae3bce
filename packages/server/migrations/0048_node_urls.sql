-- Where a node can be reached: the command-line client makes links to it. Null: the node runs an older version.
alter table node add column url text;
