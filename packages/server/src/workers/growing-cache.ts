/**
 * The bounds of an `LRUCache` that grows as it is filled. With `max`, it allocates all its places at the start: for 50,000 workers, each
 * start of a node would cost 13 ms of processor time and 5 MB, even if no worker comes.
 */
export const growingTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
