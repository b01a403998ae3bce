import { type Fragment, fragment } from "#kernel";

/** How many bytes of payloads and results one statement moves or deletes. PostgreSQL takes about 20 ms to move a megabyte. */
const MAX_MOVED_BYTES = fragment`33554432`;

/** The first rows of a CTE `of (…, size)` in this order, up to the one that reaches the bytes of a statement. */
export const withinBytes = (of: Fragment, order: Fragment): Fragment => fragment`(
  select * from (select *, sum(size) over (order by ${order}) - size as bytes_before from ${of}) sized where bytes_before < ${MAX_MOVED_BYTES})`;
